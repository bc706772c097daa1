// SPDX-License-Identifier: GPL-2.0
/*
 * Rings of TCP sockets with the ULP "sdp": a descriptor that maps both pipes of an end.  See
 * uapi/linux/sdp_ring.h, and offload/share.c for what goes on there.
 *
 * The file holds the pair and not the socket: close(2) of the socket stays a close.
 */
#include <linux/anon_inodes.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/net.h>
#include <linux/sdp_ring.h>
#include <linux/slab.h>

#include "front/dev/dev.h"
#include "front/sock/sock.h"

/**
 * struct sdp_mapping - what a file of an end's rings has
 * @pair: the connection, referenced, attached for this end
 * @accepted: which end
 */
struct sdp_mapping {
	struct sdp_pair *pair;
	bool accepted;
};

/* The endpoint behind a file of rings, its socket locked and referenced; or NULL. */
static struct sdp_sock *sdp_mapping_lock(const struct sdp_mapping *map)
{
	struct sock *sk = sdp_share_sock(map->pair, map->accepted);
	struct sdp_sock *ss;

	if (!sk)
		return NULL;
	lock_sock(sk);
	ss = sdp_sk(sk);
	/* The connection may have ended before the lock was ours. */
	if (ss && ss->pair == map->pair && sdp_tx_pipe(ss, ss->pair)->tx == sk)
		return ss;
	release_sock(sk);
	sock_put(sk);
	return NULL;
}

static long sdp_mapping_open(const struct sdp_mapping *map, unsigned long halves)
{
	struct sdp_sock *ss;
	struct sock *sk;
	long open;

	if (!halves || halves & ~(unsigned long)(SDP_RING_TX | SDP_RING_RX))
		return -EINVAL;
	ss = sdp_mapping_lock(map);
	if (!ss)
		return -ENOTCONN;
	sk = ss->sk;
	open = sdp_share_open(ss, halves);
	release_sock(sk);
	sock_put(sk);
	return open;
}

static long sdp_mapping_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	const struct sdp_mapping *map = file->private_data;

	switch (cmd) {
	case SDP_RING_OPEN:
		return sdp_mapping_open(map, arg);
	case SDP_RING_KICK:
		if (arg & ~(unsigned long)(SDP_RING_DATA | SDP_RING_ROOM))
			return -EINVAL;
		sdp_share_kick(map->pair, map->accepted, arg);
		return 0;
	default:
		return -ENOTTY;
	}
}

static int sdp_mapping_mmap(struct file *file, struct vm_area_struct *vma)
{
	const struct sdp_mapping *map = file->private_data;
	struct page **pages;
	int err;

	if (vma->vm_pgoff || vma_pages(vma) != SDP_SHARE_PAGES || !(vma->vm_flags & VM_SHARED))
		return -EINVAL;
	if (vma->vm_flags & VM_EXEC)
		return -EPERM;
	pages = kmalloc_array(SDP_SHARE_PAGES, sizeof(*pages), GFP_KERNEL);
	if (!pages)
		return -ENOMEM;
	sdp_share_pages(map->pair, map->accepted, pages);
	/* A program and its child would take each other for the other's threads. */
	vm_flags_mod(vma, VM_DONTCOPY | VM_DONTEXPAND | VM_DONTDUMP | VM_MIXEDMAP, VM_MAYEXEC);
	err = vm_map_pages(vma, pages, SDP_SHARE_PAGES);
	kfree(pages);
	return err;
}

static void sdp_mapping_free(struct sdp_mapping *map)
{
	sdp_share_detach(map->pair, map->accepted);
	sdp_pair_put(map->pair);
	kfree(map);
}

static int sdp_mapping_release(struct inode *inode, struct file *file)
{
	sdp_mapping_free(file->private_data);
	return 0;
}

static const struct file_operations sdp_mapping_fops = {
	.owner		= THIS_MODULE,
	.release	= sdp_mapping_release,
	.mmap		= sdp_mapping_mmap,
	.unlocked_ioctl	= sdp_mapping_ioctl,
	.compat_ioctl	= sdp_mapping_ioctl,
	.llseek		= noop_llseek,
};

static bool sdp_is_endpoint(const struct sock *sk)
{
	const struct sdp_family *fam;

	if (sk->sk_family != AF_INET && sk->sk_family != AF_INET6)
		return false;
	fam = sdp_family(sk);
	return fam && READ_ONCE(sk->sk_prot) == &fam->prot;
}

/* Later there is no call that a security module could be asked about. */
static int sdp_attach_allowed(struct socket *sock)
{
	struct msghdr msg = { .msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL };
	int err;

	/* The program's own calls report the error. */
	if (READ_ONCE(sock->sk->sk_err))
		return 0;
	err = sock_sendmsg(sock, &msg);
	if (err != -EACCES && err != -EPERM)
		err = sock_recvmsg(sock, &msg, MSG_DONTWAIT | MSG_PEEK);
	return err == -EACCES || err == -EPERM ? err : 0;
}

/* Gives @map the endpoint's pair, referenced, if it has one. */
static int sdp_attach_pair(struct sock *sk, struct sdp_mapping *map)
{
	struct sdp_sock *ss;
	int err = -EOPNOTSUPP;

	lock_sock(sk);
	ss = sdp_sk(sk);
	if (!ss)
		goto out;
	/* Nothing has to be counted first: the program has asked. */
	if (!ss->pair && sk->sk_state == TCP_ESTABLISHED)
		sdp_sock_look(ss);
	map->pair = ss->pair;
	map->accepted = ss->accepted;
	if (map->pair) {
		refcount_inc(&map->pair->refs);
		err = 0;
	} else if (!sdp_stay_for_good(ss->stay)) {
		err = sk->sk_state == TCP_ESTABLISHED ? -EAGAIN : -ENOTCONN;
	}
out:
	release_sock(sk);
	return err;
}

static int sdp_attach_file(struct socket *sock, struct sdp_mapping *map, struct file **newfile)
{
	int err = sdp_is_endpoint(sock->sk) ? 0 : -EOPNOTSUPP;

	err = err ?: sdp_attach_allowed(sock);
	err = err ?: sdp_attach_pair(sock->sk, map);
	if (err)
		return err;
	err = sdp_share_attach(map->pair, map->accepted);
	if (err) {
		sdp_pair_put(map->pair);
		return err;
	}
	*newfile = anon_inode_getfile("[sdp-ring]", &sdp_mapping_fops, map, O_RDWR);
	if (!IS_ERR(*newfile))
		return 0;
	err = PTR_ERR(*newfile);
	*newfile = NULL;
	sdp_share_detach(map->pair, map->accepted);
	sdp_pair_put(map->pair);
	return err;
}

/*
 * The kernel exchanges words that user space stores to, and holds a spinlock meanwhile.
 * So an exchange has to be one instruction.  Where it is a loop of load-exclusive and
 * store-exclusive, another processor's stores could keep the loop from ending.
 */
static bool sdp_attach_exchange_ends(void)
{
#if defined(CONFIG_X86_64)
	return true;
#elif defined(CONFIG_ARM64)
	return system_uses_lse_atomics();
#else
	return false;
#endif
}

/*
 * The ioctl SDP_IOC_ATTACH.  @newfile: the new descriptor's file, which the caller installs or
 * puts.  With -EPROTONOSUPPORT, @arg has the kernel's version.
 */
int sdp_attach_rings(struct sdp_attach *arg, struct file **newfile)
{
	bool other = arg->major != SDP_API_MAJOR;
	struct sdp_mapping *map;
	struct socket *sock;
	int err;

	if (!other && arg->flags & ~SDP_ATTACH_SOLE)
		return -EINVAL;
	arg->major = SDP_API_MAJOR;
	arg->minor = SDP_API_MINOR;
	if (other)
		return -EPROTONOSUPPORT;
	if (!sdp_attach_exchange_ends())
		return -EOPNOTSUPP;
	sock = sockfd_lookup(arg->fd, &err);
	if (!sock)
		return err;
	/* The descriptor's reference, and ours. */
	if (arg->flags & SDP_ATTACH_SOLE && file_count(sock->file) > 2) {
		sockfd_put(sock);
		return -EBUSY;
	}
	map = kzalloc(sizeof(*map), GFP_KERNEL_ACCOUNT);
	err = map ? sdp_attach_file(sock, map, newfile) : -ENOMEM;
	sockfd_put(sock);
	if (err) {
		kfree(map);
		return err;
	}
	arg->head_bytes = PAGE_SIZE;
	arg->ring_bytes = SDP_PIPE_BYTES;
	arg->tx_base = map->pair->pipe[map->accepted].base;
	arg->rx_base = map->pair->pipe[!map->accepted].base;
	arg->features = 0;
	return 0;
}
