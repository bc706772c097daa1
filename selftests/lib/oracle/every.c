// SPDX-License-Identifier: GPL-2.0
/*
 * Every socket option by its number, whether or not it means anything to TCP: what a
 * new socket, a listener and both ends of a connection answer, and what becomes of a
 * value that is set before and after.
 */
#include "oracle.h"

static const struct level {
	const char *name;
	int level, last;
	/* Those whose values are of the moment, and by which nothing can be compared. */
	const char *moment;
	/* Those by which no connection comes about. */
	const char *apart;
	/* Those about TCP's packets, of which SDP has none: see libsdpdev.rst. */
	const char *packets;
} levels[] = {
	{ "SOL_SOCKET", SOL_SOCKET, 80, " 7 8 49 55 56 57 71 ", " 62 ",
	  " 11 44 46 60 69 " },
	{ "IPPROTO_IP", IPPROTO_IP, 54, " 52 ", " ",
	  " 6 7 8 11 12 13 15 18 19 20 23 24 26 33 49 51 " },
	{ "IPPROTO_IPV6", IPPROTO_IPV6, 80, " ", " ",
	  " 1 17 18 25 30 31 33 62 72 73 75 78 " },
	{ "IPPROTO_TCP", IPPROTO_TCP, 44, " 11 12 24 26 35 ", " 19 ",
	  " 2 10 16 18 21 27 34 37 " },
};

static bool among(const char *numbers, int number)
{
	char word[16];

	sprintf(word, " %d ", number);
	return strstr(numbers, word);
}

/* The value as far as there is one, or its length where it is of the moment. */
static void tell(const char *who, int fd, const struct level *level, int name)
{
	unsigned char value[256] = "";
	socklen_t len = sizeof(value), i;

	printf(" %s ", who);
	if (getsockopt(fd, level->level, name, value, &len)) {
		printf("%s", strerrorname_np(errno));
		return;
	}
	printf("%u", len);
	if (among(level->moment, name))
		return;
	/* Zeros at the end say nothing more than the length. */
	while (len > 1 && !value[len - 1])
		len--;
	for (i = 0; i < len; i++)
		printf("%s%02x", i ? "" : ":", value[i]);
}

static void set(const char *who, int fd, const struct level *level, int name, int value)
{
	errno = 0;
	setsockopt(fd, level->level, name, &value, sizeof(value));
	printf(" %s=%d %s", who, value, errno ? strerrorname_np(errno) : "0");
}

/* One that is set before the connection is there, and then on both ends of it. */
static void option(const struct level *level, int name)
{
	int l = listener(5), c = client_socket(0), s;
	bool apart = among(level->apart, name);

	printf("%s %d:", level->name, name);
	tell("new", c, level, name);
	tell("listener", l, level, name);
	if (!apart) {
		set("new", c, level, name, 1);
		set("listener", l, level, name, 1);
	}
	tell("listener", l, level, name);
	must(!connect(c, &server_addr.any, server_len));
	s = accept(l, NULL, NULL);
	must(s >= 0);
	tell("client", c, level, name);
	tell("accepted", s, level, name);
	if (!apart) {
		set("client", c, level, name, 0);
		tell("client", c, level, name);
		set("accepted", s, level, name, 1);
		tell("accepted", s, level, name);
	}
	printf("\n");
	must(!close(c) && !close(s) && !close(l));
}

int main(int argc, char **argv)
{
	unsigned int i;
	int name;

	oracle_init(argc, argv);
	for (i = 0; i < sizeof(levels) / sizeof(*levels); i++)
		for (name = 0; name <= levels[i].last; name++)
			if (!among(levels[i].packets, name))
				option(&levels[i], name);
	return 0;
}
