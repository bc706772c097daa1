// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "wire.h"

#define HEADER	offsetof(struct wire_frame, data)

/*
 * Reads more of a frame from a descriptor that does not block. Returns 1 when
 * the frame is whole, 0 when more has to come, -1 with errno at an error, and
 * with errno 0 at the end of the stream. The caller starts with f->done = 0.
 */
int wire_read(int fd, struct wire_frame *f)
{
	size_t want;
	ssize_t n;

	for (;;) {
		want = HEADER;
		if (f->done >= HEADER) {
			if (f->len > WIRE_MAX) {
				errno = EPROTO;
				return -1;
			}
			want += f->len;
			if (f->done == want)
				return 1;
		}
		n = read(fd, (char *)f + f->done, want - f->done);
		if (n > 0) {
			f->done += n;
		} else if (n == 0) {
			errno = 0;
			return -1;
		} else if (errno == EAGAIN) {
			return 0;
		} else if (errno != EINTR) {
			return -1;
		}
	}
}

/*
 * Writes more of a frame to a descriptor that does not block. Returns 1 when
 * all is written, 0 when the descriptor takes no more, -1 with errno.
 */
int wire_write(int fd, struct wire_frame *f)
{
	size_t end = HEADER + f->len;
	ssize_t n;

	while (f->done < end) {
		n = write(fd, (char *)f + f->done, end - f->done);
		if (n >= 0)
			f->done += n;
		else if (errno == EAGAIN)
			return 0;
		else if (errno != EINTR)
			return -1;
	}
	return 1;
}

/* Makes a frame ready to be written. */
void wire_set(struct wire_frame *f, enum wire_type type, const void *data,
	      size_t len)
{
	f->type = type;
	f->len = len;
	f->done = 0;
	if (data)
		memcpy(f->data, data, len);
}

int wire_nonblock(int fd)
{
	return fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}
