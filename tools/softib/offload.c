// SPDX-License-Identifier: GPL-2.0
/*
 * Stateless offloads of IP over InfiniBand (RFC 4391): checksums, and large
 * sends that an HCA cuts into packets. As real HCAs do it: IPv4 only, and of
 * that TCP and UDP in one piece; all else goes as it is.
 */
#include <linux/ip.h>
#include <linux/module.h>
#include <linux/tcp.h>
#include <linux/udp.h>
#include <net/checksum.h>
#include <net/ip.h>

#include "softib.h"

/* RFC 4391, section 6: the Ethertype, and 16 bits that are not looked at */
#define ENCAP_LEN	4

static bool ud_csum = true;
module_param(ud_csum, bool, 0644);
MODULE_PARM_DESC(ud_csum, "HCAs made from now on do the checksums of IPoIB (default Y)");

static bool ud_lso = true;
module_param(ud_lso, bool, 0644);
MODULE_PARM_DESC(ud_lso, "HCAs made from now on cut large sends of IPoIB into packets (default Y)");

/**
 * struct ip_at - an IPv4 packet, and what it carries
 * @ip:		its header
 * @l4:		the header of TCP or UDP
 * @sum:	the checksum there, or NULL if this is something else
 * @l4_len:	from @l4 to the end of what @sum is of
 */
struct ip_at {
	struct iphdr *ip;
	void *l4;
	__sum16 *sum;
	u32 l4_len;
};

static void find_sum(struct ip_at *at, u32 len)
{
	struct tcphdr *tcp = at->l4;
	struct udphdr *udp = at->l4;

	at->sum = NULL;
	at->l4_len = len;
	if (ip_is_fragment(at->ip))
		return;
	if (at->ip->protocol == IPPROTO_TCP && len >= sizeof(*tcp)) {
		at->sum = &tcp->check;
	} else if (at->ip->protocol == IPPROTO_UDP && len >= sizeof(*udp)) {
		at->l4_len = ntohs(udp->len);
		if (at->l4_len >= sizeof(*udp) && at->l4_len <= len)
			at->sum = &udp->check;
	}
}

/* Any program may have written the packet: nothing in it is to be trusted. */
static bool find_ip(void *payload, u32 len, struct ip_at *at)
{
	u32 hlen, total;

	at->ip = payload + ENCAP_LEN;
	if (len < ENCAP_LEN + sizeof(*at->ip) ||
	    *(__be16 *)payload != htons(ETH_P_IP))
		return false;
	hlen = at->ip->ihl * 4;
	total = ntohs(at->ip->tot_len);
	if (at->ip->version != 4 || hlen < sizeof(*at->ip) || total < hlen ||
	    total > len - ENCAP_LEN)
		return false;
	at->l4 = (void *)at->ip + hlen;
	find_sum(at, total - hlen);
	return true;
}

/* 0 if the sum in the packet is right, what is to be there if that is 0 */
static __sum16 l4_sum(const struct ip_at *at)
{
	return csum_tcpudp_magic(at->ip->saddr, at->ip->daddr, at->l4_len,
				 at->ip->protocol,
				 csum_partial(at->l4, at->l4_len, 0));
}

static void fill_sums(void *payload, u32 len)
{
	struct ip_at at;

	if (!find_ip(payload, len, &at))
		return;
	at.ip->check = 0;
	at.ip->check = ip_fast_csum(at.ip, at.ip->ihl);
	if (!at.sum)
		return;
	*at.sum = 0;
	*at.sum = l4_sum(&at);
	/* RFC 768: 0 says that there is none. */
	if (!*at.sum && at.ip->protocol == IPPROTO_UDP)
		*at.sum = CSUM_MANGLED_0;
}

/* The packet's part of what the headers of the whole say */
static void fit_headers(void *payload, u32 len, u32 index, u32 offset,
			bool last)
{
	struct iphdr *ip = payload + ENCAP_LEN;
	struct tcphdr *tcp = (void *)ip + ip->ihl * 4;

	ip->tot_len = htons(len - ENCAP_LEN);
	ip->id = htons(ntohs(ip->id) + index);
	tcp->seq = htonl(ntohl(tcp->seq) + offset);
	if (index)
		tcp->cwr = 0;
	if (!last) {
		tcp->fin = 0;
		tcp->psh = 0;
	}
}

/* Says what HCAs made now can do. */
void softib_offload_props(struct ib_device_attr *props)
{
	if (READ_ONCE(ud_csum))
		props->device_cap_flags |= IB_DEVICE_UD_IP_CSUM;
	if (READ_ONCE(ud_lso))
		props->kernel_cap_flags |= IBK_UD_TSO;
}

/*
 * Checks a large send that is being posted, and gives it a PSN for each packet. @mtu: of the path.
 * Returns -EINVAL if it cannot be cut.
 */
int softib_lso_setup(struct softib_hca *hca, struct rvt_swqe *wqe, u32 mtu)
{
	const struct ib_ud_wr *wr = &wqe->ud_wr.wr;
	const struct iphdr *ip = wr->header + ENCAP_LEN;
	const struct tcphdr *tcp;
	u32 hlen = wr->hlen;

	if (!(hca->rdi.dparms.props.kernel_cap_flags & IBK_UD_TSO) ||
	    !wqe->length || wr->mss <= 0 || wr->mss > mtu ||
	    hlen > mtu - wr->mss ||
	    hlen < ENCAP_LEN + sizeof(*ip) + sizeof(*tcp))
		return -EINVAL;
	if (*(__be16 *)wr->header != htons(ETH_P_IP) || ip->version != 4 ||
	    ip->protocol != IPPROTO_TCP || ip_is_fragment(ip) ||
	    ip->ihl * 4 < sizeof(*ip) ||
	    ENCAP_LEN + ip->ihl * 4 + sizeof(*tcp) > hlen)
		return -EINVAL;
	tcp = (void *)ip + ip->ihl * 4;
	if (ENCAP_LEN + ip->ihl * 4 + tcp->doff * 4 != hlen)
		return -EINVAL;
	wqe->lpsn = wqe->psn + (wqe->length - 1) / wr->mss;
	return 0;
}

/*
 * Finishes a packet of a UD QP. @offset: of a large send, how much of the data was in the packets
 * before.
 */
void softib_offload_send(struct softib_hca *hca, const struct rvt_swqe *wqe,
			 void *payload, u32 len, u32 offset)
{
	const struct ib_ud_wr *wr = &wqe->ud_wr.wr;

	if (wr->wr.opcode == IB_WR_LSO) {
		fit_headers(payload, len, offset / wr->mss, offset,
			    offset + len - wr->hlen == wqe->length);
		fill_sums(payload, len);
	} else if (wr->wr.send_flags & IB_SEND_IP_CSUM &&
		   hca->rdi.dparms.props.device_cap_flags & IB_DEVICE_UD_IP_CSUM) {
		fill_sums(payload, len);
	}
}

/*
 * Is it IPv4 with TCP or UDP, and are all checksums right? One of UDP that is not there is not
 * right.
 */
bool softib_offload_receive(struct softib_hca *hca, void *payload, u32 len)
{
	struct ip_at at;

	return hca->rdi.dparms.props.device_cap_flags & IB_DEVICE_UD_IP_CSUM &&
	       find_ip(payload, len, &at) &&
	       !ip_fast_csum(at.ip, at.ip->ihl) &&
	       at.sum && *at.sum && !l4_sum(&at);
}
