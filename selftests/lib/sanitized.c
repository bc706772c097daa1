// SPDX-License-Identifier: GPL-2.0
/*
 * A program that is built with a sanitizer: it connects to itself, and each end sends and
 * receives.  With one more argument it makes one mistake, or runs a command.
 *
 *	PROGRAM ADDRESS SERVER_NAMESPACE CLIENT_NAMESPACE [overflow | COMMAND]
 */
#include "oracle/oracle.h"

static void exchange(int pair[2], size_t room)
{
	char *from = calloc(1, 64), *to = malloc(room);

	must(from && to);
	must(send(pair[0], from, 64, 0) == 64);
	wait_bytes(pair[1], 64);
	must(recv(pair[1], to, 64, 0) == 64);
	must(write(pair[1], to, 64) == 64);
	must(recv(pair[0], from, 64, MSG_WAITALL) == 64);
	free(from);
	free(to);
}

int main(int argc, char **argv)
{
	const char *what = argc > 4 ? argv[4] : "";
	int pair[2];

	oracle_init(argc > 4 ? 4 : argc, argv);
	connected(pair);
	exchange(pair, strcmp(what, "overflow") ? 64 : 8);
	close_pair(pair);
	if (*what && strcmp(what, "overflow"))
		/* NOLINTNEXTLINE(cert-env33-c): a shell is what the test wants to see run */
		return system(what) != 0;
	return 0;
}
