/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The Sockets Direct Protocol on the wire (InfiniBand Architecture, Annex A4).
 *
 * Everything is big-endian.  The functions here are pure: bytes in, verdict
 * out, no state and no side effect.
 */
#ifndef _SDP_WIRE_H
#define _SDP_WIRE_H

#include <linux/bits.h>
#include <linux/socket.h>
#include <linux/types.h>

/* Message identifiers (A4.3.2). */
enum sdp_mid {
	SDP_MID_HELLO			= 0x00,
	SDP_MID_HELLO_ACK		= 0x01,
	SDP_MID_DISCONN			= 0x02,
	SDP_MID_ABORT_CONN		= 0x03,
	SDP_MID_SEND_SM			= 0x04,
	SDP_MID_RDMA_WR_COMPL		= 0x05,
	SDP_MID_RDMA_RD_COMPL		= 0x06,
	SDP_MID_MODE_CHANGE		= 0x07,
	SDP_MID_SRC_AVAIL_CANCEL	= 0x08,
	SDP_MID_SINK_AVAIL_CANCEL	= 0x09,
	SDP_MID_SINK_CANCEL_ACK		= 0x0a,
	SDP_MID_CH_RCV_BUF		= 0x0b,
	SDP_MID_CH_RCV_BUF_ACK		= 0x0c,
	SDP_MID_SUSP_COMM		= 0x0d,
	SDP_MID_SUSP_COMM_ACK		= 0x0e,
	SDP_MID_SINK_AVAIL		= 0xfd,
	SDP_MID_SRC_AVAIL		= 0xfe,
	SDP_MID_DATA			= 0xff,
};

/* Modes of a half connection, as ModeChange names them. */
enum sdp_mode {
	SDP_MODE_BUFFERED	= 0,
	SDP_MODE_COMBINED	= 1,
	SDP_MODE_PIPELINED	= 2,
};

/* Where ModeChange has it, in its 32 bits: it is about the sender's send half. */
#define SDP_MODE_SHIFT		28

/*
 * Major and minor version in the nibbles of one byte.  Every implementation
 * that is known to have shipped says 2.2 and refuses no other minor version.
 */
#define SDP_VERSION		0x22
#define SDP_VERSION_MAJOR(v)	((v) >> 4)

/* Flags of the base header (A4.3.1). */
#define SDP_OOB_PRES		BIT(0)	/* the last byte is urgent */
#define SDP_OOB_PEND		BIT(1)	/* an urgent byte is there or comes */

/**
 * struct sdp_srcah - what follows the base header of SrcAvail
 * @len: bytes advertised, those that follow included
 * @key: of the memory
 * @addr: of its first byte
 */
struct sdp_srcah {
	__be32 len;
	__be32 key;
	__be64 addr;
};

/**
 * struct sdp_sinkah - what follows the base header of SinkAvail
 * @len: bytes advertised
 * @key: of the memory
 * @addr: of its first byte
 * @nondiscards: messages with stream bytes that have made no advertisement void
 *
 * Then may follow stream bytes of the other half connection.
 */
struct sdp_sinkah {
	__be32 len;
	__be32 key;
	__be64 addr;
	__be32 nondiscards;
} __packed;

/* Smallest receive buffer that a peer may have, header included. */
#define SDP_MIN_RCV_SZ		256

/**
 * struct sdp_bsdh - Base Sockets Direct Header, first in every message
 * @mid: enum sdp_mid
 * @flags: OOB_PRES, OOB_PEND, REQ_PIPE
 * @bufs: receive buffers posted by the sender of this message
 * @len: bytes of the message, this header included
 * @mseq: its sequence number
 * @mseq_ack: the last @mseq received
 */
struct sdp_bsdh {
	__u8 mid;
	__u8 flags;
	__be16 bufs;
	__be32 len;
	__be32 mseq;
	__be32 mseq_ack;
};

/**
 * struct sdp_hh - Hello, in the private data of a connection request
 * @bsdh: base header
 * @version: SDP_VERSION
 * @ipv_cap: IP version (high nibble), capabilities (low nibble)
 * @rsvd1: zero
 * @max_adverts: advertisements that may be outstanding
 * @des_rem_rcv_sz: size of the receive buffers that the peer should have
 * @local_rcv_sz: size of the sender's own
 * @local_port: TCP port of the sender
 * @rsvd2: zero
 * @src: its address; an IPv4 one is in the last four bytes
 * @dst: address that is called
 * @rsvd3: zero
 * @ext_max_adverts: zero without the capability
 * @pad: up to the size that a request's private data has
 */
struct sdp_hh {
	struct sdp_bsdh bsdh;
	__u8 version;
	__u8 ipv_cap;
	__u8 rsvd1;
	__u8 max_adverts;
	__be32 des_rem_rcv_sz;
	__be32 local_rcv_sz;
	__be16 local_port;
	__be16 rsvd2;
	__u8 src[16];
	__u8 dst[16];
	__be16 rsvd3;
	__be16 ext_max_adverts;
	__u8 pad[8];
};

/* Bytes that a Hello must have: everything before @rsvd3. */
#define SDP_HH_MIN	64

/**
 * struct sdp_hah - HelloAck, in the private data of an acceptance
 * @bsdh: base header
 * @version: SDP_VERSION
 * @cap: capabilities
 * @rsvd: zero
 * @max_adverts: advertisements that may be outstanding
 * @act_rcv_sz: size of the sender's receive buffers
 */
struct sdp_hah {
	struct sdp_bsdh bsdh;
	__u8 version;
	__u8 cap;
	__u8 rsvd;
	__u8 max_adverts;
	__be32 act_rcv_sz;
};

/**
 * enum sdp_bad - what is wrong with a message
 * @SDP_BAD_NOTHING: it is well-formed
 * @SDP_BAD_SHORT: it ends within its headers
 * @SDP_BAD_LEN: its length is not what it says, or what its kind has
 * @SDP_BAD_MID: unknown message identifier
 * @SDP_BAD_VERSION: of Hello or HelloAck
 * @SDP_BAD_ADDR: IP version or address in Hello
 * @SDP_BAD_SIZES: buffer sizes or counts in Hello or HelloAck
 * @SDP_BAD_FIELD: another field has a value that it must not have
 * @SDP_BAD_TURN: well-formed, but not allowed at this point
 * @SDP_BAD_MSEQ: MSeq is not the next one
 * @SDP_BAD_MSEQ_ACK: MSeqAck acknowledges what was not sent
 * @SDP_BAD_CREDITS: sent without a credit for it
 * @SDP_BAD_MAX: their number
 */
enum sdp_bad {
	SDP_BAD_NOTHING,
	SDP_BAD_SHORT,
	SDP_BAD_LEN,
	SDP_BAD_MID,
	SDP_BAD_VERSION,
	SDP_BAD_ADDR,
	SDP_BAD_SIZES,
	SDP_BAD_FIELD,
	SDP_BAD_TURN,
	SDP_BAD_MSEQ,
	SDP_BAD_MSEQ_ACK,
	SDP_BAD_CREDITS,
	SDP_BAD_MAX,
};

/**
 * struct sdp_pdu - a message taken apart, in host byte order
 * @mid: enum sdp_mid
 * @bufs: Bufs
 * @mseq: MSeq
 * @mseq_ack: MSeqAck
 * @off: where its stream bytes begin
 * @payload: how many there are
 * @oob_pres: the last of them is urgent
 * @oob_pend: an urgent byte is among them or comes later
 * @avail: of SrcAvail and SinkAvail: bytes advertised; of RdmaRdCompl and RdmaWrCompl: bytes
 *	that were read, or written
 * @key: of SrcAvail and SinkAvail
 * @addr: of the same
 * @nondiscards: of SinkAvail
 * @mode: of ModeChange: enum sdp_mode
 * @mode_of_receiver: of ModeChange: it is about the receiver's send half
 */
struct sdp_pdu {
	u8 mid;
	u16 bufs;
	u32 mseq;
	u32 mseq_ack;
	u32 off;
	u32 payload;
	bool oob_pres;
	bool oob_pend;
	u32 avail;
	u32 key;
	u64 addr;
	u32 nondiscards;
	u8 mode;
	bool mode_of_receiver;
};

/**
 * struct sdp_hello - contents of a Hello or HelloAck
 * @bufs: receive buffers posted
 * @rcv_sz: their size
 * @adverts: advertisements that it may have outstanding at the sender: MaxAdverts
 * @src: of Hello: address and port of the sender
 * @dst: of Hello: address that it calls, port zero
 */
struct sdp_hello {
	u16 bufs;
	u32 rcv_sz;
	u8 adverts;
	struct sockaddr_storage src;
	struct sockaddr_storage dst;
};

enum sdp_bad sdp_parse(const void *data, u32 len, struct sdp_pdu *pdu);
enum sdp_bad sdp_parse_hello(const void *data, unsigned int len,
			     struct sdp_hello *hello);
enum sdp_bad sdp_parse_hello_ack(const void *data, unsigned int len,
				 struct sdp_hello *hello);
void sdp_build_hello(struct sdp_hh *hh, const struct sdp_hello *hello);
void sdp_build_hello_ack(struct sdp_hah *hah, const struct sdp_hello *hello);

#endif /* _SDP_WIRE_H */
