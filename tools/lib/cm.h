/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Messages of the communication manager, made by hand.
 *
 * librdmacm writes the first byte of a request's private data itself, and waits for answers.  Here
 * all bytes are the program's, and requests go as fast as it likes.  The answers go to the kernel's
 * own communication manager, which knows nothing of the requests and drops them: so they are read
 * from softib's capture of the fabric.
 */
#ifndef TOOLS_LIB_CM_H
#define TOOLS_LIB_CM_H

#include <stdbool.h>
#include <stdint.h>

#define CM_REQ		0x0010
#define CM_REJ		0x0012
#define CM_REP		0x0013
#define CM_RTU		0x0014
#define CM_DREQ		0x0015

#define CM_DATA		232	/* bytes of a message behind the MAD's header */
#define CM_REQ_PRIVATE	92
#define CM_PSN		0x123456	/* of the first packet from the end that was asked */

/* Where they go from and to. */
struct cm {
	int mad;
	uint32_t agent;
	uint32_t count, messages;
	uint16_t lid, peer_lid;
	uint8_t gid[16], peer_gid[16];
};

/**
 * struct cm_answer - what the peer says to a request
 * @attr: CM_REP or CM_REJ
 * @id: the peer's number of the connection
 * @qpn: its queue pair
 * @psn: of the first packet to it
 * @reason: of a rejection
 * @data: private data
 */
struct cm_answer {
	uint16_t attr;
	uint32_t id, qpn, psn;
	uint16_t reason;
	uint8_t data[CM_DATA];
};

bool cm_open(struct cm *cm, const char *from, const char *to);
uint32_t cm_new_id(struct cm *cm);
bool cm_ask(struct cm *cm, uint32_t id, uint64_t service, uint32_t qpn, const void *data,
	    unsigned int len);
bool cm_ask_and_hear(struct cm *cm, uint32_t id, uint64_t service, uint32_t qpn,
		     const void *data, unsigned int len, struct cm_answer *answer);
bool cm_give_up(struct cm *cm, uint32_t id);
bool cm_ready(struct cm *cm, uint32_t id, uint32_t peer_id);
bool cm_end(struct cm *cm, uint32_t id, uint32_t peer_id, uint32_t peer_qpn);

#endif /* TOOLS_LIB_CM_H */
