// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "client.h"

volatile sig_atomic_t client_ended_by;

static volatile sig_atomic_t resized;
static struct termios saved_termios;
static bool raw;

static void on_resize(int sig)
{
	(void)sig;
	resized = 1;
}

/* Has @on_end called for the signals that end a process from outside. */
void client_catch(void (*on_end)(int sig))
{
	struct sigaction end = { .sa_handler = on_end };
	struct sigaction resize = {
		.sa_handler = on_resize,
		.sa_flags = SA_RESTART,
	};

	signal(SIGPIPE, SIG_IGN);
	sigaction(SIGHUP, &end, NULL);
	sigaction(SIGINT, &end, NULL);
	sigaction(SIGTERM, &end, NULL);
	sigaction(SIGWINCH, &resize, NULL);
}

void client_restore_terminal(void)
{
	if (raw)
		tcsetattr(0, TCSADRAIN, &saved_termios);
	raw = false;
}

/* Passes every key on, until this process ends. */
void client_take_terminal(struct client *c)
{
	struct termios t;

	c->tty = true;
	c->size_due = true;
	if (tcgetattr(0, &saved_termios))
		return;
	t = saved_termios;
	cfmakeraw(&t);
	raw = true;
	atexit(client_restore_terminal);
	tcsetattr(0, TCSADRAIN, &t);
}

/* Standard output and error may block; the program then does too. */
static void write_all(int fd, const unsigned char *data, size_t len)
{
	ssize_t n;

	while (len && !client_ended_by) {
		n = write(fd, data, len);
		if (n >= 0) {
			data += n;
			len -= n;
		} else if (errno == EPIPE) {
			client_ended_by = SIGPIPE;
		} else if (errno == EAGAIN) {
			poll(&(struct pollfd){ fd, POLLOUT, 0 }, 1, -1);
		} else if (errno != EINTR) {
			fprintf(stderr, "vm: output: %s\n", strerror(errno));
			client_ended_by = SIGPIPE;
		}
	}
}

static void received(struct client *c)
{
	switch (c->from.type) {
	case WIRE_HELLO:
		c->up = true;
		break;
	case WIRE_OUT:
		write_all(1, c->from.data, c->from.len);
		break;
	case WIRE_ERR:
		write_all(2, c->from.data, c->from.len);
		break;
	case WIRE_EXIT:
		if (c->from.len == 1 && c->status < 0) {
			c->status = c->from.data[0];
			c->bye_due = true;
		}
		break;
	}
	c->from.done = 0;
}

static void send_size(struct client *c)
{
	struct wire_size size;
	struct winsize ws;

	if (ioctl(0, TIOCGWINSZ, &ws))
		return;
	size.rows = ws.ws_row;
	size.cols = ws.ws_col;
	wire_set(&c->to, WIRE_SIZE, &size, sizeof(size));
	c->to_full = true;
}

static void send_input(struct client *c)
{
	ssize_t n = read(c->in, c->to.data, sizeof(c->to.data));

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n <= 0)
		c->in = -1;
	wire_set(&c->to, WIRE_IN, NULL, n > 0 ? n : 0);
	c->to_full = true;
}

/* Chooses what to send next, if anything but input is due. */
static void prepare(struct client *c)
{
	if (c->bye_due) {
		c->bye_due = false;
		wire_set(&c->to, WIRE_BYE, NULL, 0);
		c->to_full = true;
	} else if (c->eof_due && c->status < 0) {
		c->eof_due = false;
		c->in = -1;
		wire_set(&c->to, WIRE_IN, NULL, 0);
		c->to_full = true;
	} else if (c->size_due) {
		c->size_due = false;
		send_size(c);
	}
}

/* Says what to wait for. */
void client_poll(struct client *c, struct pollfd p[CLIENT_FDS])
{
	if (resized && c->tty) {
		resized = 0;
		c->size_due = true;
	}
	if (c->up && !c->to_full)
		prepare(c);
	p[0].fd = c->sock;
	p[0].events = POLLIN | (c->to_full ? POLLOUT : 0);
	p[1].fd = c->up && !c->to_full && c->status < 0 ? c->in : -1;
	p[1].events = POLLIN;
}

/* Does what can be done. Returns false when the far end has closed. */
bool client_step(struct client *c, const struct pollfd p[CLIENT_FDS])
{
	int ret;

	if (p[0].revents & POLLOUT)
		if (wire_write(c->sock, &c->to))
			c->to_full = false;
	if (p[0].revents & (POLLIN | POLLHUP | POLLERR)) {
		ret = wire_read(c->sock, &c->from);
		if (ret < 0)
			return false;
		if (ret)
			received(c);
	}
	if (p[1].revents && !c->to_full && c->in >= 0)
		send_input(c);
	return true;
}
