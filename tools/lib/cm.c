// SPDX-License-Identifier: GPL-2.0
/*
 * Messages of the communication manager, made by hand: see cm.h.  Their fields are those of the
 * InfiniBand specification, volume 1, chapter 12.
 */
#include "cm.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <endian.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>
#include <rdma/ib_user_mad.h>

#define CAPTURE		"/sys/kernel/debug/softib/capture"
#define ANSWER_MS	20000
#define CM_CLASS	0x07
#define CM_VERSION	2
#define SEND		0x03
#define MAD_BYTES	256
#define MAD_HEADER	24
#define PKEY		0xffff
#define MTU_2048	4
#define REJ_TIMEOUT	4
#define RATE_10		3

/* Of a packet in the capture, from the record's header on */
#define PCAP_HEADER	24
#define PCAP_RECORD	16
#define ERF_RECORD	16
#define LRH_BYTES	8
#define GRH_BYTES	40
#define BTH_DETH_BYTES	20

static void put16(uint8_t *at, uint16_t value)
{
	value = htobe16(value);
	memcpy(at, &value, 2);
}

static void put24(uint8_t *at, uint32_t value)
{
	at[0] = value >> 16;
	put16(at + 1, value);
}

static void put32(uint8_t *at, uint32_t value)
{
	value = htobe32(value);
	memcpy(at, &value, 4);
}

static uint16_t get16(const uint8_t *at)
{
	return at[0] << 8 | at[1];
}

static uint32_t get24(const uint8_t *at)
{
	return at[0] << 16 | get16(at + 1);
}

static uint32_t get32(const uint8_t *at)
{
	return (uint32_t)get16(at) << 16 | get16(at + 2);
}

/* --- the port ------------------------------------------------------------------ */

static bool read_word(char *word, const char *format, const char *name)
{
	char path[200];
	bool good;
	FILE *f;

	snprintf(path, sizeof(path), format, name);
	f = fopen(path, "re");
	good = f && fscanf(f, "%63s", word) == 1;
	if (f)
		fclose(f);
	return good;
}

static bool read_port(const char *device, uint16_t *lid, uint8_t *gid)
{
	char word[64];

	if (!read_word(word, "/sys/class/infiniband/%s/ports/1/lid", device))
		return false;
	*lid = strtoul(word, NULL, 16);
	return read_word(word, "/sys/class/infiniband/%s/ports/1/gids/0", device) &&
	       inet_pton(AF_INET6, word, gid) == 1;
}

/* The file by which a device's management datagrams go, or -1. */
static int open_mads(const char *device)
{
	DIR *dir = opendir("/sys/class/infiniband_mad");
	char word[64], path[300];
	struct dirent *entry;
	int fd = -1;

	while (dir && fd < 0 && (entry = readdir(dir))) {
		if (strncmp(entry->d_name, "umad", 4) ||
		    !read_word(word, "/sys/class/infiniband_mad/%s/ibdev", entry->d_name) ||
		    strcmp(word, device))
			continue;
		snprintf(path, sizeof(path), "/dev/infiniband/%s", entry->d_name);
		fd = open(path, O_RDWR | O_CLOEXEC);
	}
	if (dir)
		closedir(dir);
	return fd;
}

/* False without the devices, with errno. */
bool cm_open(struct cm *cm, const char *from, const char *to)
{
	struct ib_user_mad_reg_req req = {
		.qpn = 1, .mgmt_class = CM_CLASS, .mgmt_class_version = CM_VERSION,
	};

	memset(cm, 0, sizeof(*cm));
	if (!read_port(from, &cm->lid, cm->gid) || !read_port(to, &cm->peer_lid, cm->peer_gid) ||
	    getrandom(&cm->count, sizeof(cm->count), 0) != sizeof(cm->count))
		return false;
	cm->mad = open_mads(from);
	if (cm->mad < 0 || ioctl(cm->mad, IB_USER_MAD_ENABLE_PKEY) ||
	    ioctl(cm->mad, IB_USER_MAD_REGISTER_AGENT, &req))
		return false;
	cm->agent = req.id;
	return true;
}

/* --- messages ------------------------------------------------------------------ */

static bool cm_send(struct cm *cm, uint16_t attr, const uint8_t *data)
{
	struct {
		struct ib_user_mad_hdr hdr;
		uint8_t mad[MAD_BYTES];
	} out = {
		.hdr = { .id = cm->agent, .qpn = htobe32(1), .qkey = htobe32(0x80010000),
			 .lid = htobe16(cm->peer_lid) },
		.mad = { 1, CM_CLASS, CM_VERSION, SEND },
	};

	/* No two that are on their way may have the same number. */
	put32(out.mad + 12, ++cm->messages);
	put16(out.mad + 16, attr);
	memcpy(out.mad + MAD_HEADER, data, CM_DATA);
	return write(cm->mad, &out, sizeof(out)) == sizeof(out);
}

/* A number for the next connection, which is also good as a queue pair's. */
uint32_t cm_new_id(struct cm *cm)
{
	return ++cm->count;
}

/* A request for a reliable connection, with any private data. */
bool cm_ask(struct cm *cm, uint32_t id, uint64_t service, uint32_t qpn, const void *data,
	    unsigned int len)
{
	uint8_t req[CM_DATA] = {};

	put32(req, id);
	service = htobe64(service);
	memcpy(req + 8, &service, 8);
	memcpy(req + 16, cm->gid + 8, 8);
	put24(req + 32, qpn);
	req[35] = 1;
	req[39] = 1;
	/* The peer's time to answer, and end-to-end flow control */
	req[43] = 18 << 3 | 1;
	put24(req + 44, CM_PSN);
	req[47] = 18 << 3 | 7;
	put16(req + 48, PKEY);
	req[50] = MTU_2048 << 4 | 7;
	req[51] = 7 << 4;
	put16(req + 52, cm->lid);
	put16(req + 54, cm->peer_lid);
	memcpy(req + 56, cm->gid, 16);
	memcpy(req + 72, cm->peer_gid, 16);
	req[91] = RATE_10;
	/* No router is between them. */
	req[94] = 1 << 3;
	req[95] = 18 << 3;
	memcpy(req + 140, data, len < CM_REQ_PRIVATE ? len : CM_REQ_PRIVATE);
	return cm_send(cm, CM_REQ, req);
}

/* No answer to a request is waited for any more: the peer forgets it, or what it has accepted. */
bool cm_give_up(struct cm *cm, uint32_t id)
{
	uint8_t rej[CM_DATA] = {};

	put32(rej, id);
	/* Eight bytes of additional information: the one that had asked */
	rej[9] = 8 << 1;
	put16(rej + 10, REJ_TIMEOUT);
	memcpy(rej + 12, cm->gid + 8, 8);
	return cm_send(cm, CM_REJ, rej);
}

bool cm_ready(struct cm *cm, uint32_t id, uint32_t peer_id)
{
	uint8_t rtu[CM_DATA] = {};

	put32(rtu, id);
	put32(rtu + 4, peer_id);
	return cm_send(cm, CM_RTU, rtu);
}

bool cm_end(struct cm *cm, uint32_t id, uint32_t peer_id, uint32_t peer_qpn)
{
	uint8_t dreq[CM_DATA] = {};

	put32(dreq, id);
	put32(dreq + 4, peer_id);
	put24(dreq + 8, peer_qpn);
	return cm_send(cm, CM_DREQ, dreq);
}

/* --- answers ------------------------------------------------------------------- */

static void cm_take_apart(const uint8_t *data, struct cm_answer *answer)
{
	answer->id = get32(data);
	if (answer->attr == CM_REJ) {
		answer->reason = get16(data + 10);
		memcpy(answer->data, data + 84, CM_DATA - 84);
		return;
	}
	answer->qpn = get24(data + 12);
	answer->psn = get24(data + 20);
	memcpy(answer->data, data + 36, CM_DATA - 36);
}

/* Is a packet the answer to a request? */
static bool cm_is_answer(const uint8_t *packet, size_t len, uint32_t id,
			 struct cm_answer *answer)
{
	size_t at = LRH_BYTES + BTH_DETH_BYTES + ((packet[1] & 3) == 3 ? GRH_BYTES : 0);
	const uint8_t *mad = packet + at;

	if (len < at + MAD_BYTES || mad[1] != CM_CLASS)
		return false;
	answer->attr = get16(mad + 16);
	if ((answer->attr != CM_REP && answer->attr != CM_REJ) ||
	    get32(mad + MAD_HEADER + 4) != id)
		return false;
	cm_take_apart(mad + MAD_HEADER, answer);
	return true;
}

/* Looks at whole records; whether the answer is there. */
static bool cm_look(const uint8_t *at, const uint8_t *end, uint32_t id, struct cm_answer *answer)
{
	while (end - at >= PCAP_RECORD + ERF_RECORD + LRH_BYTES) {
		uint32_t bytes;

		memcpy(&bytes, at + 8, sizeof(bytes));
		if (bytes > end - at - PCAP_RECORD)
			return false;
		if (cm_is_answer(at + PCAP_RECORD + ERF_RECORD, bytes - ERF_RECORD, id, answer))
			return true;
		at += PCAP_RECORD + bytes;
	}
	return false;
}

static bool cm_hear(int capture, uint32_t id, struct cm_answer *answer)
{
	static uint8_t records[1 << 20];
	struct pollfd p = { .fd = capture, .events = POLLIN };
	size_t skip = PCAP_HEADER;
	struct timespec now;
	time_t deadline;
	ssize_t n;

	clock_gettime(CLOCK_MONOTONIC, &now);
	deadline = now.tv_sec + ANSWER_MS / 1000;
	for (; now.tv_sec < deadline; clock_gettime(CLOCK_MONOTONIC, &now)) {
		if (poll(&p, 1, 1000) != 1)
			continue;
		n = read(capture, records, sizeof(records));
		if (n < (ssize_t)skip)
			continue;
		if (cm_look(records + skip, records + n, id, answer))
			return true;
		skip = 0;
	}
	return false;
}

/* A request, and what the peer says to it; false if it says nothing. */
bool cm_ask_and_hear(struct cm *cm, uint32_t id, uint64_t service, uint32_t qpn,
		     const void *data, unsigned int len, struct cm_answer *answer)
{
	int capture = open(CAPTURE, O_RDONLY | O_CLOEXEC);
	bool heard;

	if (capture < 0)
		return false;
	heard = cm_ask(cm, id, service, qpn, data, len) && cm_hear(capture, id, answer);
	close(capture);
	return heard;
}
