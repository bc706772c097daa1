// SPDX-License-Identifier: GPL-2.0
/*
 * The connection of a wrong peer: see peer.h.
 */
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <infiniband/ib.h>
#include <infiniband/verbs.h>

#include "peer.h"

static int used = -1;		/* the buffer of the message that was given out */
static struct rdma_event_channel *channel;
struct rdma_cm_id *id;
/* Of all connections, made for the first */
static struct ibv_comp_channel *completions;
static struct ibv_cq *cq;
static struct ibv_pd *pd;
static struct ibv_mr *mr;
static bool armed;			/* the next completion is told of */
static unsigned char *mem;		/* BUFS to receive, SENDS to send */
static unsigned int sent, posted;
uint32_t mseq, last_rcvd;
bool silent;
unsigned int peer_bufs;
uint16_t own_bufs = BUFS;
bool hold_rtu;
/* While the connection manager is not to know of it, so that it sends no RTU */
static struct ibv_qp *held;

void die(const char *what)
{
	fprintf(stderr, "sdp_peer: %s: %s\n", what, strerror(errno));
	exit(1);
}

long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void set_gid(struct sockaddr_ib *sib, const char *device)
{
	char path[128], gid[64];
	FILE *f;

	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/ports/1/gids/0", device);
	f = fopen(path, "r");
	if (!f || fscanf(f, "%63s", gid) != 1 || inet_pton(AF_INET6, gid, &sib->sib_addr) != 1)
		die(path);
	fclose(f);
	sib->sib_family = AF_IB;
	sib->sib_pkey = htobe16(0xffff);
}

/* The next event of the connection manager: is it WANT? */
static bool expect(enum rdma_cm_event_type want, struct rdma_cm_event **evp)
{
	struct rdma_cm_event *ev;
	bool is;

	if (rdma_get_cm_event(channel, &ev))
		die("event");
	is = ev->event == want;
	if (is && evp) {
		*evp = ev;
		return true;
	}
	if (silent)
		;
	else if (ev->event == RDMA_CM_EVENT_REJECTED)
		printf("rejected %d", ev->status);
	else if (!is)
		printf("%s (%d)", rdma_event_str(ev->event), ev->status);
	rdma_ack_cm_event(ev);
	return is;
}

static void post_recv(unsigned int slot)
{
	struct ibv_sge sge = { (uintptr_t)mem + slot * BUF_BYTES, BUF_BYTES, mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = slot, .sg_list = &sge, .num_sge = 1 }, *bad;

	if (ibv_post_recv(id->qp, &wr, &bad))
		die("post receive");
}

/* What all connections use. */
static void make_device(struct ibv_context *verbs)
{
	completions = ibv_create_comp_channel(verbs);
	pd = ibv_alloc_pd(verbs);
	if (!completions || !pd)
		die("device");
	cq = ibv_create_cq(verbs, SLOTS, NULL, completions, 0);
	if (!cq)
		die("completion queue");
	mr = ibv_reg_mr(pd, mem, SLOTS * BUF_BYTES, IBV_ACCESS_LOCAL_WRITE);
	if (!mr)
		die("memory region");
}

static void make_qp(void)
{
	struct ibv_qp_init_attr attr = {
		.cap = { .max_send_wr = SENDS, .max_recv_wr = BUFS,
			 .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
	};
	unsigned int i;

	if (!cq)
		make_device(id->verbs);
	attr.send_cq = cq;
	attr.recv_cq = cq;
	if (rdma_create_qp(id, pd, &attr))
		die("queue pair");
	for (i = 0; i < BUFS; i++)
		post_recv(i);
}

static bool hello_ack_is_good(const struct rdma_conn_param *param)
{
	const struct bsdh *ack = param->private_data;

	return ack && param->private_data_len >= HAH_BYTES && ack->mid == HELLO_ACK &&
	       be32toh(ack->len) == HAH_BYTES && be16toh(ack->bufs);
}

/* Sends the request. */
void ask(const struct place *place, const struct hello *hello)
{
	struct rdma_conn_param param = {
		.private_data = hello,
		.private_data_len = sizeof(*hello),
		.retry_count = 7,
		.rnr_retry_count = 7,
	};
	struct sockaddr_ib src = {}, dst = {};

	set_gid(&src, place->from);
	set_gid(&dst, place->to);
	dst.sib_sid = htobe64(SDP_SERVICE_ID | place->port);
	dst.sib_sid_mask = ~0ULL;

	if (rdma_create_id(channel, &id, NULL, RDMA_PS_IB))
		die("connection manager");
	if (rdma_bind_addr(id, (struct sockaddr *)&src))
		die("bind");
	if (rdma_resolve_addr(id, NULL, (struct sockaddr *)&dst, WAIT_MS) ||
	    !expect(RDMA_CM_EVENT_ADDR_RESOLVED, NULL))
		die("resolve address");
	if (rdma_resolve_route(id, WAIT_MS) || !expect(RDMA_CM_EVENT_ROUTE_RESOLVED, NULL))
		die("resolve route");
	make_qp();
	if (hold_rtu) {
		held = id->qp;
		id->qp = NULL;
		param.qp_num = held->qp_num;
	}
	if (rdma_connect(id, &param))
		die("connect");
}

/* Makes the held queue pair send and receive, as the connection manager would. */
static void make_ready(void)
{
	struct ibv_qp_attr attr;
	int state, mask;

	id->qp = held;
	held = NULL;
	for (state = IBV_QPS_RTR; state <= IBV_QPS_RTS; state++) {
		attr.qp_state = state;
		if (rdma_init_qp_attr(id, &attr, &mask) || ibv_modify_qp(id->qp, &attr, mask))
			die("queue pair");
	}
}

/* The other side knows of it only with is_connected(). */
void await_answer(void)
{
	struct pollfd p = { .fd = channel->fd, .events = POLLIN };

	if (poll(&p, 1, WAIT_MS) != 1)
		die("answer");
}

/* False, and said why, if it does not come to be.  With hold_rtu see establish(). */
bool is_connected(void)
{
	enum rdma_cm_event_type want = held ? RDMA_CM_EVENT_CONNECT_RESPONSE :
					      RDMA_CM_EVENT_ESTABLISHED;
	const struct rdma_conn_param *param;
	struct rdma_cm_event *ev;
	bool good;

	if (!expect(want, &ev))
		return false;
	param = &ev->param.conn;
	good = hello_ack_is_good(param);
	if (good)
		peer_bufs = be16toh(((const struct bsdh *)param->private_data)->bufs);
	rdma_ack_cm_event(ev);
	if (!good && !silent)
		printf("bad HelloAck");
	if (held)
		make_ready();
	return good;
}

/* Sends the RTU that was held. */
bool establish(void)
{
	bool done;

	held = id->qp;
	id->qp = NULL;
	done = !rdma_establish(id);
	id->qp = held;
	held = NULL;
	return done;
}

bool connect_to(const struct place *place, const struct hello *hello)
{
	ask(place, hello);
	return is_connected();
}

void disconnect(void)
{
	struct ibv_wc wc;

	if (id->qp) {
		rdma_disconnect(id);
		rdma_destroy_qp(id);
		/* What it has left there is not the next one's. */
		while (ibv_poll_cq(cq, 1, &wc) > 0)
			;
	}
	rdma_destroy_id(id);
	sent = 0;
	posted = 0;
	used = -1;
	mseq = 0;
	last_rcvd = 0;
}

/* Send the first BYTES of a base header and what follows. */
void send_bytes(struct bsdh h, const char *ext, unsigned int ext_bytes, unsigned int bytes)
{
	unsigned int slot = BUFS + sent++ % SENDS;
	unsigned char *out = mem + slot * BUF_BYTES;
	struct ibv_sge sge = { (uintptr_t)out, bytes, mr->lkey };
	struct ibv_send_wr wr = { .wr_id = slot, .sg_list = &sge, .num_sge = 1,
				  .opcode = IBV_WR_SEND }, *bad;

	h.bufs = htobe16(h.bufs);
	h.len = htobe32(h.len);
	h.mseq = htobe32(h.mseq);
	h.ack = htobe32(h.ack);
	memset(out, 'x', bytes < sizeof(h) ? sizeof(h) : bytes);
	memcpy(out, &h, sizeof(h));
	if (ext_bytes)
		memcpy(out + sizeof(h), ext, ext_bytes);
	/* It fails once the other side has ended the connection. */
	if (!ibv_post_send(id->qp, &wr, &bad))
		posted++;
}

/* Memory that the other side may write into, if it is told. */
struct remote remote_memory(void *bytes, unsigned int n)
{
	struct ibv_mr *shared = ibv_reg_mr(pd, bytes, n, IBV_ACCESS_LOCAL_WRITE |
							 IBV_ACCESS_REMOTE_WRITE);

	if (!shared)
		die("memory region");
	return (struct remote){ (uintptr_t)bytes, shared->rkey, n };
}

/* An RDMA WRITE of so many bytes; false: it was refused. */
bool write_to(const struct remote *to, unsigned int bytes)
{
	struct ibv_sge sge = { (uintptr_t)mem, bytes, mr->lkey };
	struct ibv_send_wr wr = { .wr_id = BUFS, .sg_list = &sge, .num_sge = !!bytes,
				  .opcode = IBV_WR_RDMA_WRITE,
				  .wr.rdma = { to->addr, to->key } }, *bad;
	long deadline = now_ms() + WAIT_MS;
	const struct bsdh *h;
	unsigned int length;

	if (ibv_post_send(id->qp, &wr, &bad))
		return false;
	posted++;
	while (posted && now_ms() < deadline) {
		if (!poll_once(&h, &length))
			return false;
		if (posted)
			await_news(deadline);
	}
	return !posted;
}

void send_good(uint8_t mid, const char *text)
{
	unsigned int bytes = sizeof(struct bsdh) + strlen(text);
	struct bsdh h = { .mid = mid, .bufs = own_bufs, .len = bytes, .ack = last_rcvd };

	h.mseq = ++mseq;
	send_bytes(h, text, strlen(text), bytes);
}

bool cm_says_over(void)
{
	struct pollfd p = { .fd = channel->fd, .events = POLLIN };
	struct rdma_cm_event *ev;

	if (poll(&p, 1, 0) != 1 || rdma_get_cm_event(channel, &ev))
		return false;
	rdma_ack_cm_event(ev);
	return true;
}

unsigned int sends_posted(void)
{
	return posted;
}

/*
 * Takes what is complete, up to a message, which is H: NULL if there is none in the
 * queue.  False once the queue pair has failed.  The buffer of a message is posted
 * again with the next call.
 */
bool poll_once(const struct bsdh **h, unsigned int *bytes)
{
	struct ibv_wc wc;
	int n;

	if (used >= 0)
		post_recv(used);
	used = -1;
	*h = NULL;
	*bytes = 0;
	do {
		n = ibv_poll_cq(cq, 1, &wc);
		if (n < 0)
			die("poll");
		if (!n)
			return true;
		if (wc.status != IBV_WC_SUCCESS)
			return false;
		if (wc.wr_id >= BUFS)
			posted--;
	} while (wc.wr_id >= BUFS);
	*h = (const void *)(mem + wc.wr_id * BUF_BYTES);
	last_rcvd = be32toh((*h)->mseq);
	*bytes = wc.byte_len;
	used = wc.wr_id;
	return true;
}

/*
 * Waits for a completion or an event, until DEADLINE.  The first call after a
 * completion returns at once: what came before it is to be looked for again.
 */
void await_news(long deadline)
{
	struct pollfd p[] = { { completions->fd, POLLIN, 0 }, { channel->fd, POLLIN, 0 } };
	long left = deadline - now_ms();
	struct ibv_cq *of;
	void *context;

	if (!armed) {
		if (ibv_req_notify_cq(cq, 0))
			die("completion queue");
		armed = true;
		return;
	}
	if (left <= 0 || poll(p, 2, left) <= 0 || !p[0].revents)
		return;
	if (ibv_get_cq_event(completions, &of, &context))
		die("completion");
	ibv_ack_cq_events(of, 1);
	armed = false;
}

/* The next message; NULL if the connection ended first, or nothing came. */
const struct bsdh *receive(unsigned int *bytes)
{
	long deadline = now_ms() + WAIT_MS;
	const struct bsdh *h;
	bool over = false;

	while (now_ms() < deadline) {
		if (!poll_once(&h, bytes)) {
			over = true;
			continue;
		}
		if (h)
			return h;
		if (over)
			return NULL;
		/* What came before the end is in the queue by now. */
		over = cm_says_over();
		if (!over)
			await_news(deadline);
	}
	if (!silent)
		printf("nothing, ");
	return NULL;
}

/* --- conversations ---------------------------------------------------------- */

bool is_echoed(const char *text)
{
	unsigned int bytes, n = 0, len = strlen(text);
	const struct bsdh *h;

	send_good(DATA, text);
	while (n < len) {
		h = receive(&bytes);
		if (!h || h->mid != DATA || bytes < sizeof(*h))
			return false;
		bytes -= sizeof(*h);
		if (bytes > len - n || memcmp(h + 1, text + n, bytes))
			return false;
		n += bytes;
	}
	return true;
}

/* An echo, and the end as it should be. */
bool is_good(void)
{
	const struct bsdh *h;
	unsigned int bytes;

	if (!is_echoed("a good word"))
		return false;
	send_good(DISCONN, "");
	while ((h = receive(&bytes)))
		if (h->mid == DISCONN)
			return true;
	return false;
}

void fill_hello(struct hello *hello, const struct place *place)
{
	*hello = (struct hello){
		.h = { .mid = HELLO, .bufs = htobe16(BUFS), .len = htobe32(sizeof(*hello)) },
		.version = 0x22, .ipv = 0x40, .adverts = 1,
		.des_rcv_sz = htobe32(BUF_BYTES), .rcv_sz = htobe32(BUF_BYTES),
		.port = htobe16(40000),
	};
	inet_pton(AF_INET, place->src, hello->src + 12);
	inet_pton(AF_INET, place->dst, hello->dst + 12);
}

void peer_init(void)
{
	mem = calloc(SLOTS, BUF_BYTES);
	channel = rdma_create_event_channel();
	if (!mem || !channel)
		die("connection manager");
}
