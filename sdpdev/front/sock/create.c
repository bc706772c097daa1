// SPDX-License-Identifier: GPL-2.0
/*
 * socket(AF_INET | AF_INET6, SOCK_STREAM, IPPROTO_SDP): a TCP socket that has the ULP from the
 * beginning.
 *
 * Everywhere behind socket(2) the socket is one of TCP's: its protocol is IPPROTO_TCP, and its
 * struct proto TCP's, before the ULP comes in front.
 */
#include <linux/module.h>
#include <linux/sdp_sock.h>
#include <net/protocol.h>
#include <net/transp_v6.h>

#include "front/sock/sock.h"

/* TCP's, with an init() of their own. */
static struct proto sdp_create_prots[2];

static struct inet_protosw sdp_create_sw[] = {
	{
		.type = SOCK_STREAM,
		.protocol = IPPROTO_SDP,
		.prot = &sdp_create_prots[0],
		.flags = INET_PROTOSW_ICSK,
	},
	{
		.type = SOCK_STREAM,
		.protocol = IPPROTO_SDP,
		.prot = &sdp_create_prots[1],
		.flags = INET_PROTOSW_ICSK,
	},
};

static int sdp_create_init(struct sock *sk)
{
	struct proto *prot = sdp_family(sk)->base.prot;
	int err;

	sk->sk_protocol = IPPROTO_TCP;
	WRITE_ONCE(sk->sk_prot, prot);
	/* The socket's memory outlives the module. */
	sk->sk_prot_creator = prot;
	err = prot->init(sk) ?: sdp_sock_attach(sk);
	/* sk_alloc() took a reference to the module; the ULP has its own. */
	module_put(THIS_MODULE);
	return err;
}

static void sdp_create_build(int i, const struct sdp_base *base)
{
	sdp_create_prots[i] = *base->prot;
	sdp_create_prots[i].init = sdp_create_init;
	sdp_create_prots[i].owner = THIS_MODULE;
	sdp_create_sw[i].ops = base->ops;
}

/* Lets programs make sockets with IPPROTO_SDP.  @base: TCP's functions for @family. */
int sdp_create_register(int family, const struct sdp_base *base)
{
	if (family == AF_INET) {
		sdp_create_build(0, base);
		inet_register_protosw(&sdp_create_sw[0]);
		return 0;
	}
#if IS_ENABLED(CONFIG_IPV6)
	sdp_create_build(1, base);
	return inet6_register_protosw(&sdp_create_sw[1]);
#else
	return 0;
#endif
}

void sdp_create_unregister(int family)
{
	if (family == AF_INET)
		inet_unregister_protosw(&sdp_create_sw[0]);
#if IS_ENABLED(CONFIG_IPV6)
	else
		inet6_unregister_protosw(&sdp_create_sw[1]);
#endif
}

/* Of PF_INET and PF_INET6, IPPROTO_SDP, SOCK_STREAM. */
MODULE_ALIAS_NET_PF_PROTO_TYPE(2, 257, 1);
MODULE_ALIAS_NET_PF_PROTO_TYPE(10, 257, 1);
