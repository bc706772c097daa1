// SPDX-License-Identifier: GPL-2.0
/*
 * TCP's own functions, which the ULP's are made from.
 *
 * They are taken from sockets of the module's own: not all of them are exported, and another part
 * of the kernel may already have replaced those of another socket.
 */
#include <linux/net.h>

#include "front/sock/sock.h"

static struct sdp_family sdp_families[2];

/* NULL if the family was not there when the module was loaded. */
struct sdp_family *sdp_family(const struct sock *sk)
{
	struct sdp_family *fam = &sdp_families[sk->sk_family == AF_INET6];

	return fam->base.prot ? fam : NULL;
}

static int sdp_family_learn(int family, struct sdp_family *fam)
{
	struct socket *sock;
	int err = sock_create_kern(&init_net, family, SOCK_STREAM, IPPROTO_TCP, &sock);

	if (err)
		return err;
	fam->base.prot = sock->sk->sk_prot;
	fam->base.ops = sock->ops;
	fam->base.data_ready = sock->sk->sk_data_ready;
	fam->base.write_space = sock->sk->sk_write_space;
	fam->base.ulp = &sdp_ulp;
	fam->base.ulp_local = &sdp_ulp_local;
	fam->base.ulp_ib = &sdp_ulp_ib;
	fam->base.ulp_rdma = &sdp_ulp_rdma;
	fam->prot = *fam->base.prot;
	fam->ops = *fam->base.ops;
	sdp_proto_build(fam);
	sock_release(sock);
	return sdp_create_register(family, &fam->base);
}

/* A kernel without IPv6 has only IPv4's. */
int sdp_family_init(void)
{
	int err = sdp_family_learn(AF_INET, &sdp_families[0]);

	if (err)
		return err;
	err = sdp_family_learn(AF_INET6, &sdp_families[1]);
	if (err && err != -EAFNOSUPPORT)
		sdp_create_unregister(AF_INET);
	return err == -EAFNOSUPPORT ? 0 : err;
}

void sdp_family_exit(void)
{
	if (sdp_families[1].base.prot)
		sdp_create_unregister(AF_INET6);
	sdp_create_unregister(AF_INET);
}
