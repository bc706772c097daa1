/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One connection of a peer that speaks SDP as badly as it likes, from user space:
 * the RDMA connection manager's native InfiniBand addresses (AF_IB) let it send
 * any private data to any service ID, and verbs any message.
 */
#ifndef SELFTESTS_WIRE_PEER_H
#define SELFTESTS_WIRE_PEER_H

#include <stdbool.h>
#include <stdint.h>
#include <rdma/rdma_cma.h>

#define BUFS		16	/* receive buffers, as the Hello says */
#define SENDS		64
#define SLOTS		(BUFS + SENDS)
#define BUF_BYTES	32768
#define WAIT_MS		20000
#define HAH_BYTES	24

#define SDP_SERVICE_ID	0x10000ULL

enum {
	HELLO = 0x00,
	HELLO_ACK = 0x01,
	DISCONN = 0x02,
	ABORT_CONN = 0x03,
	SEND_SM = 0x04,
	RDMA_WR_COMPL = 0x05,
	RDMA_RD_COMPL = 0x06,
	MODE_CHANGE = 0x07,
	SRC_AVAIL_CANCEL = 0x08,
	SINK_AVAIL_CANCEL = 0x09,
	SINK_CANCEL_ACK = 0x0a,
	CH_RCV_BUF = 0x0b,
	CH_RCV_BUF_ACK = 0x0c,
	SUSP_COMM = 0x0d,
	SUSP_COMM_ACK = 0x0e,
	SINK_AVAIL = 0xfd,
	SRC_AVAIL = 0xfe,
	DATA = 0xff,
};

struct bsdh {
	uint8_t mid, flags;
	uint16_t bufs;
	uint32_t len, mseq, ack;
};

struct hello {
	struct bsdh h;
	uint8_t version, ipv, rsvd1, adverts;
	uint32_t des_rcv_sz, rcv_sz;
	uint16_t port, rsvd2;
	uint8_t src[16], dst[16];
	uint16_t rsvd3, ext_adverts;
	uint8_t pad[8];
};

/* Memory of one end's, as the other one is told of it. */
struct remote {
	uint64_t addr;
	uint32_t key, len;
};

/* Where to and where from, as the command line has it. */
struct place {
	const char *from, *to, *src, *dst;
	unsigned int port;
};

extern struct rdma_cm_id *id;
extern uint32_t mseq, last_rcvd;	/* sent last, received last */
extern bool silent;			/* say nothing of how connecting failed */
extern unsigned int peer_bufs;		/* receive buffers, as the HelloAck says */
extern bool hold_rtu;			/* the connecting end sends no RTU */
extern uint16_t own_bufs;		/* what is said of the own ones in all messages */

__attribute__((noreturn)) void die(const char *what);
long now_ms(void);
void peer_init(void);
void fill_hello(struct hello *hello, const struct place *place);
void ask(const struct place *place, const struct hello *hello);
void await_answer(void);
bool connect_to(const struct place *place, const struct hello *hello);
bool is_connected(void);
bool establish(void);
void disconnect(void);
void send_bytes(struct bsdh h, const char *ext, unsigned int ext_bytes, unsigned int bytes);
struct remote remote_memory(void *bytes, unsigned int n);
bool write_to(const struct remote *to, unsigned int bytes);
void send_good(uint8_t mid, const char *text);
const struct bsdh *receive(unsigned int *bytes);
bool poll_once(const struct bsdh **h, unsigned int *bytes);
void await_news(long deadline);
unsigned int sends_posted(void);
bool cm_says_over(void);
bool is_echoed(const char *text);
bool is_good(void);

/* zcopy.c: a case says how it went */
struct zcopy_case {
	const char *name;
	const char *(*run)(void);
	bool bad;		/* a counter moves */
};

const struct zcopy_case *zcopy_case(const char *name);

/* random.c */
int run_random(const struct place *place, unsigned long seed, unsigned long messages,
	       unsigned int peers, unsigned int most);

#endif /* SELFTESTS_WIRE_PEER_H */
