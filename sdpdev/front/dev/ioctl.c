// SPDX-License-Identifier: GPL-2.0
/*
 * The ioctls: what user space says is checked here, and only here, before
 * anything acts on it.  See uapi/linux/sdp.h.
 */
#include <linux/file.h>
#include <linux/nospec.h>
#include <linux/sdp_ring.h>
#include <linux/sockios.h>
#include <linux/uaccess.h>
#include <asm/ioctls.h>
#include <net/ipv6.h>

#include "front/dev/dev.h"
#include "front/sock/sock.h"

/* What a handler gets; @arg is zero behind what user space gave. */
union sdp_arg {
	__u32 size;
	struct sdp_init init;
	struct sdp_bind bind;
	struct sdp_listen listen;
	struct sdp_accept accept;
	struct sdp_connect connect;
	struct sdp_shutdown shutdown;
	struct sdp_info info;
	struct sdp_error error;
	struct sdp_native native;
	struct sdp_replace replace;
	struct sdp_ring_setup ring_setup;
	struct sdp_ring_enter ring_enter;
	struct sdp_rule rule;
	struct sdp_attach attach;
	struct sdp_ctl ctl;
};

/**
 * struct sdp_call - an ioctl that somebody makes
 * @file: the file
 * @ep: its endpoint
 * @arg: the structure
 * @nonblock: do not wait
 * @uring: it comes from io_uring, which calls again with leave to wait where the
 *	answer is -EAGAIN
 * @newfile: out: the file of the new descriptor
 */
struct sdp_call {
	struct file *file;
	struct sdp_ep *ep;
	union sdp_arg arg;
	bool nonblock;
	bool uring;
	struct file *newfile;
};

/**
 * struct sdp_ioctl - an ioctl
 * @fn: does it; a negative errno, or what ioctl(2) returns
 * @size: of its structure, in its first version
 * @known: of its structure now
 * @out: the structure is written back
 * @bare: allowed before SDP_IOC_INIT
 * @fd: returns a new descriptor, of the file that @fn leaves
 *
 * The number is reserved before @fn runs, so that a process that has none left
 * does not take a connection and lose it; the file is installed when nothing
 * can fail any more.
 */
struct sdp_ioctl {
	long (*fn)(struct sdp_call *call);
	u32 size;
	u32 known;
	bool out;
	bool bare;
	bool fd;
};

static long sdp_ioc_init(struct sdp_call *call)
{
	struct sdp_init *init = &call->arg.init;
	struct sdp_ep *ep = call->ep;
	u16 major = init->major;
	int err = 0;

	if ((init->flags & ~SDP_INIT_NO_TCP) || init->features || init->reserved[0] ||
	    init->reserved[1])
		return -EINVAL;
	init->major = SDP_API_MAJOR;
	init->minor = SDP_API_MINOR;
	init->features = SDP_FEATURE_NATIVE | SDP_FEATURE_RINGS | SDP_FEATURE_URING;
	if (major != SDP_API_MAJOR)
		return -EPROTONOSUPPORT;
	if (init->family != AF_INET && init->family != AF_INET6)
		return -EAFNOSUPPORT;

	if (mutex_lock_killable(&ep->op_mutex))
		return -ERESTARTSYS;
	if (ep->family)
		err = -EALREADY;
	else
		err = sdp_native_create(ep, init->family);
	if (!err) {
		ep->no_tcp_ever = init->flags & SDP_INIT_NO_TCP;
		sdp_ep_set_ready(ep, init->family);
	}
	mutex_unlock(&ep->op_mutex);
	return err;
}

/*
 * What TCP says of binding a connected socket: it looks at the address first.  The native
 * socket is not asked, as that of an accepted connection has no port and would be bound.
 */
static int sdp_bind_again(const struct sdp_ep *ep, const struct sdp_bind *bind)
{
	const struct sockaddr_in *in = (const struct sockaddr_in *)&bind->addr;
	bool v6 = ep->family == AF_INET6;

	if (bind->addr_len < (v6 ? SIN6_LEN_RFC2133 : sizeof(*in)) ||
	    bind->addr.ss_family == ep->family)
		return -EINVAL;
	/* Old programs leave the family out. */
	if (!v6 && bind->addr.ss_family == AF_UNSPEC &&
	    in->sin_addr.s_addr == htonl(INADDR_ANY))
		return -EINVAL;
	return -EAFNOSUPPORT;
}

static long sdp_ioc_bind(struct sdp_call *call)
{
	struct sdp_bind *bind = &call->arg.bind;
	struct sdp_ep *ep = call->ep;
	int err;

	if (bind->addr_len > sizeof(bind->addr))
		return -EINVAL;
	if (mutex_lock_killable(&ep->op_mutex))
		return -ERESTARTSYS;
	if (!sdp_ep_native(ep))
		err = sdp_bind_again(ep, bind);
	else
		err = kernel_bind(sdp_native_sk(ep)->sk_socket,
				  (struct sockaddr *)&bind->addr,
				  bind->addr_len);
	if (!err) {
		sdp_ep_lock(ep);
		if (ep->state == SDP_STATE_IDLE)
			sdp_state_set(ep, SDP_STATE_BOUND);
		sdp_ep_unlock(ep);
	}
	mutex_unlock(&ep->op_mutex);
	return err;
}

static long sdp_ioc_listen(struct sdp_call *call)
{
	const struct sdp_listen *listen = &call->arg.listen;
	struct sdp_ep *ep = call->ep;
	u32 both = SDP_LISTEN_NO_TCP | SDP_LISTEN_NO_SDP;
	int err;

	if ((listen->flags & ~both) || listen->flags == both || listen->reserved)
		return -EINVAL;
	if (mutex_lock_killable(&ep->op_mutex))
		return -ERESTARTSYS;
	err = sdp_listen(ep, listen->backlog, listen->flags);
	mutex_unlock(&ep->op_mutex);
	return err;
}

static long sdp_ioc_accept(struct sdp_call *call)
{
	struct sdp_accept *accept = &call->arg.accept;

	if (accept->flags & ~(SDP_ACCEPT_NONBLOCK | SDP_ACCEPT_CLOEXEC))
		return -EINVAL;
	memset(&accept->addr, 0, sizeof(accept->addr));
	return sdp_accept(call->file, accept, call->nonblock, &call->newfile);
}

static long sdp_ioc_connect(struct sdp_call *call)
{
	struct sdp_connect *connect = &call->arg.connect;
	u32 both = SDP_CONNECT_NO_TCP | SDP_CONNECT_NO_SDP;
	u32 flags = connect->flags & ~SDP_CONNECT_NONBLOCK;
	bool wait = !(connect->flags & SDP_CONNECT_NONBLOCK);
	long ret;

	if (connect->addr_len > sizeof(connect->addr) || connect->reserved ||
	    (flags & ~both) || flags == both)
		return -EINVAL;
	/* What it takes apart lets go in its time. */
	if (call->uring && call->nonblock && connect->addr.ss_family == AF_UNSPEC)
		return -EAGAIN;
	if (connect->addr_len >= sizeof(connect->addr.ss_family) &&
	    connect->addr.ss_family == AF_UNSPEC)
		return sdp_disconnect(call->ep);
	ret = sdp_connect(call->ep, (struct sockaddr_storage *)&connect->addr,
			  connect->addr_len, flags, call->nonblock || !wait);
	/* It is under way; with leave to wait the next call learns its end. */
	if (call->uring && call->nonblock && wait &&
	    (ret == -EINPROGRESS || ret == -EALREADY))
		return -EAGAIN;
	return ret;
}

static long sdp_ioc_shutdown(struct sdp_call *call)
{
	struct sdp_ep *ep = call->ep;
	u32 how = call->arg.shutdown.how;
	int err;

	if (how > SHUT_RDWR)
		return -EINVAL;
	if (mutex_lock_killable(&ep->op_mutex))
		return -ERESTARTSYS;
	err = sdp_shutdown(ep, how);
	mutex_unlock(&ep->op_mutex);
	return err;
}

static long sdp_ioc_info(struct sdp_call *call)
{
	struct sdp_info *info = &call->arg.info;
	u32 size = info->size;
	struct sdp_conn *conn;

	memset(info, 0, sizeof(*info));
	info->size = size;
	conn = sdp_conn_get(call->ep);
	if (conn)
		sdp_tx_look(conn);
	sdp_conn_put(conn);
	sdp_ep_info(call->ep, info);
	return 0;
}

static long sdp_ioc_error(struct sdp_call *call)
{
	call->arg.error.error = sdp_ep_take_error(call->ep);
	return 0;
}

static long sdp_ioc_native(struct sdp_call *call)
{
	struct sdp_ep *ep = call->ep;
	struct sdp_conn *conn;
	int err;

	if (call->arg.native.flags)
		return -EINVAL;
	if (mutex_lock_killable(&ep->op_mutex))
		return -ERESTARTSYS;
	err = sdp_native_ensure(ep);
	if (!err)
		sdp_route_set(ep);
	mutex_unlock(&ep->op_mutex);
	if (err)
		return err;
	call->newfile = get_file(ep->tcp->file);
	conn = sdp_conn_get(ep);
	if (conn)
		sdp_alive_look(conn);
	sdp_conn_put(conn);
	return 0;
}

static long sdp_ioc_replace(struct sdp_call *call)
{
	const struct sdp_replace *replace = &call->arg.replace;

	if (replace->flags || replace->reserved)
		return -EINVAL;
	/* The entry, or its ring, has the file as well. */
	if (call->uring)
		return -EBUSY;
	return sdp_replace(call->file, replace->fd);
}

static long sdp_ioc_ring_setup(struct sdp_call *call)
{
	struct sdp_ring_setup *setup = &call->arg.ring_setup;

	if (setup->flags || setup->reserved)
		return -EINVAL;
	setup->data_offset = sdp_ring_data_offset();
	return sdp_io_ring_setup(call->ep, setup->tx_bytes, setup->rx_bytes);
}

static long sdp_ioc_ring_enter(struct sdp_call *call)
{
	u32 flags = call->arg.ring_enter.flags;

	if (flags & ~(SDP_ENTER_TX | SDP_ENTER_RX |
		      SDP_ENTER_WAIT_TX | SDP_ENTER_WAIT_RX))
		return -EINVAL;
	return sdp_io_ring_enter(call->ep, flags, call->nonblock);
}

static long sdp_ioc_rule(struct sdp_call *call)
{
	return sdp_rule_set(&call->arg.rule);
}

static long sdp_ioc_attach(struct sdp_call *call)
{
	return sdp_attach_rings(&call->arg.attach, &call->newfile);
}

static long sdp_ioc_ctl(struct sdp_call *call)
{
	/* It may have to wait. */
	if (call->uring && call->nonblock)
		return -EAGAIN;
	return sdp_ctl(&call->arg.ctl);
}

/* One that has grown: its first version ended with the member @last. */
#define SDP_IOCTL_GROWN(cmd, handler, type, last, ...) \
	[_IOC_NR(cmd)] = { .fn = handler, .size = offsetofend(struct type, last), \
			   .known = sizeof(struct type), __VA_ARGS__ }

#define SDP_IOCTL(cmd, handler, type, ...) \
	[_IOC_NR(cmd)] = { .fn = handler, .size = sizeof(struct type),	\
			   .known = sizeof(struct type), __VA_ARGS__ }

static const struct sdp_ioctl sdp_ioctls[] = {
	SDP_IOCTL(SDP_IOC_INIT, sdp_ioc_init, sdp_init, .out = true, .bare = true),
	SDP_IOCTL(SDP_IOC_BIND, sdp_ioc_bind, sdp_bind),
	SDP_IOCTL_GROWN(SDP_IOC_LISTEN, sdp_ioc_listen, sdp_listen, backlog),
	SDP_IOCTL(SDP_IOC_ACCEPT, sdp_ioc_accept, sdp_accept, .out = true,
		  .fd = true),
	SDP_IOCTL(SDP_IOC_CONNECT, sdp_ioc_connect, sdp_connect),
	SDP_IOCTL(SDP_IOC_SHUTDOWN, sdp_ioc_shutdown, sdp_shutdown),
	SDP_IOCTL(SDP_IOC_INFO, sdp_ioc_info, sdp_info, .out = true),
	SDP_IOCTL(SDP_IOC_ERROR, sdp_ioc_error, sdp_error, .out = true),
	SDP_IOCTL(SDP_IOC_NATIVE, sdp_ioc_native, sdp_native, .fd = true),
	SDP_IOCTL(SDP_IOC_RING_SETUP, sdp_ioc_ring_setup, sdp_ring_setup, .out = true),
	SDP_IOCTL(SDP_IOC_RING_ENTER, sdp_ioc_ring_enter, sdp_ring_enter),
	SDP_IOCTL(SDP_IOC_REPLACE, sdp_ioc_replace, sdp_replace),
	SDP_IOCTL(SDP_IOC_RULE, sdp_ioc_rule, sdp_rule, .bare = true),
	SDP_IOCTL(SDP_IOC_ATTACH, sdp_ioc_attach, sdp_attach, .out = true, .bare = true,
		  .fd = true),
	SDP_IOCTL(SDP_IOC_CTL, sdp_ioc_ctl, sdp_ctl, .out = true, .bare = true),
};

/* What a TCP socket is asked about its stream. */
static u64 sdp_stream_value(struct sdp_conn *conn, unsigned int cmd)
{
	switch (cmd) {
	case SIOCINQ:
		return sdp_urg_ahead(conn);
	case SIOCOUTQ:
		return sdp_tx_queued(conn);
	case SIOCOUTQNSD:
		return sdp_tx_unsent(conn);
	default:
		return sdp_urg_here(conn, 0);
	}
}

static int sdp_stream_ioctl(struct sdp_ep *ep, unsigned int cmd)
{
	u64 value = 0;

	sdp_ep_lock(ep);
	if (ep->conn)
		value = sdp_stream_value(ep->conn, cmd);
	sdp_ep_unlock(ep);
	return min_t(u64, value, INT_MAX);
}

/* What FIOGETOWN tells: the owner, negative where it is a process group, or zero. */
static int sdp_owner_get(struct file *file)
{
	struct fown_struct *owner = file_f_owner(file);
	int pid = 0;

	if (!owner)
		return 0;
	rcu_read_lock();
	read_lock_irq(&owner->lock);
	if (owner->pid && pid_task(owner->pid, owner->pid_type)) {
		pid = pid_vnr(owner->pid);
		if (owner->pid_type == PIDTYPE_PGID)
			pid = -pid;
	}
	read_unlock_irq(&owner->lock);
	rcu_read_unlock();
	return pid;
}

/* What a socket is asked about its owner, which is the file's. */
static long sdp_owner_ioctl(struct file *file, unsigned int cmd,
			    int __user *user)
{
	int pid;

	if (cmd == FIOGETOWN || cmd == SIOCGPGRP)
		return put_user(sdp_owner_get(file), user);
	if (get_user(pid, user))
		return -EFAULT;
	return f_setown(file, pid, 1);
}

/* The ioctls of sockets: the endpoint's own, and those of the network. */
static long sdp_socket_ioctl(struct file *file, struct sdp_ep *ep,
			     unsigned int cmd, unsigned long arg)
{
	int __user *user = (int __user *)arg;
	int err;

	switch (cmd) {
	case FIOSETOWN:
	case SIOCSPGRP:
	case FIOGETOWN:
	case SIOCGPGRP:
		return sdp_owner_ioctl(file, cmd, user);
	case SIOCINQ:
	case SIOCOUTQ:
	case SIOCOUTQNSD:
	case SIOCATMARK:
		if (!sdp_ep_ready(ep))
			return -ENOTCONN;
		if (sdp_ep_native(ep))
			break;
		return put_user(sdp_stream_ioctl(ep, cmd), user);
	default:
		if (_IOC_TYPE(cmd) != SOCK_IOC_TYPE || !sdp_ep_ready(ep))
			return -ENOTTY;
	}
	if (mutex_lock_killable(&ep->op_mutex))
		return -ERESTARTSYS;
	err = sdp_native_ensure(ep);
	mutex_unlock(&ep->op_mutex);
	return err ? : sdp_native_ioctl(ep, cmd, arg);
}

static unsigned int sdp_fd_flags(const struct sdp_ioctl *ioc,
				 const union sdp_arg *arg)
{
	if (ioc->fn == sdp_ioc_accept && !(arg->accept.flags & SDP_ACCEPT_CLOEXEC))
		return 0;
	return O_CLOEXEC;
}

/* As sdp_command(), but not for messages. */
static long sdp_control(struct file *file, unsigned int cmd, void __user *user,
			bool nonblock, bool uring)
{
	struct sdp_call call;
	const struct sdp_ioctl *ioc;
	unsigned int nr = _IOC_NR(cmd);
	int fd = -1;
	long ret;

	if (nr >= ARRAY_SIZE(sdp_ioctls) || cmd != _IO(SDP_IOC_MAGIC, nr))
		return -ENOTTY;
	ioc = &sdp_ioctls[array_index_nospec(nr, ARRAY_SIZE(sdp_ioctls))];

	call.file = file;
	call.ep = file->private_data;
	call.nonblock = nonblock;
	call.uring = uring;
	call.newfile = NULL;
	ret = sdp_arg_get(&call.arg, ioc->size, ioc->known, user);
	if (ret)
		return ret;
	if (!ioc->bare && !sdp_ep_ready(call.ep))
		return -ENOTCONN;

	if (ioc->fd) {
		fd = get_unused_fd_flags(sdp_fd_flags(ioc, &call.arg));
		if (fd < 0)
			return fd;
	}
	ret = ioc->fn(&call);
	/* SDP_IOC_INIT tells its version even to those that it refuses. */
	if ((ret >= 0 || ret == -EPROTONOSUPPORT) && ioc->out &&
	    copy_to_user(user, &call.arg, min(call.arg.size, ioc->known)))
		ret = -EFAULT;
	if (!ioc->fd)
		return ret;

	if (ret < 0) {
		put_unused_fd(fd);
		if (call.newfile)
			fput(call.newfile);
		return ret;
	}
	fd_install(fd, call.newfile);
	return fd;
}

/**
 * sdp_command() - one of our own ioctls
 * @file: the file
 * @cmd: SDP_IOC_*
 * @user: the structure
 * @nonblock: do not wait, whatever the file says
 * @uring: it comes from io_uring
 *
 * Return: as ioctl(2) returns it, or a negative errno: -ENOTTY where @cmd is none
 * of them, and with @nonblock and @uring -EAGAIN where it would have to wait.
 */
long sdp_command(struct file *file, unsigned int cmd, void __user *user,
		 bool nonblock, bool uring)
{
	if (cmd == SDP_IOC_SEND || cmd == SDP_IOC_RECV)
		return sdp_msg_command(file->private_data, cmd == SDP_IOC_SEND, user,
				       nonblock, uring);
	return sdp_control(file, cmd, user, nonblock, uring);
}

/**
 * sdp_ioctl() - ioctl(2) on /dev/sdp
 * @file: the file
 * @cmd: SDP_IOC_*, or one that sockets know
 * @arg: address of the structure
 *
 * Return: as ioctl(2) returns it, or a negative errno.
 */
long sdp_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	if (_IOC_TYPE(cmd) != SDP_IOC_MAGIC)
		return sdp_socket_ioctl(file, file->private_data, cmd, arg);
	return sdp_command(file, cmd, (void __user *)arg,
			   file->f_flags & O_NONBLOCK, false);
}
