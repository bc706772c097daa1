// SPDX-License-Identifier: GPL-2.0
/*
 * To be preloaded: the module is as it was one minor version before.
 */
#define _GNU_SOURCE
#include <linux/sdp.h>
#include <stdarg.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int ioctl(int fd, unsigned long request, ...)
{
	struct sdp_init *init;
	va_list args;
	int ret;

	va_start(args, request);
	init = va_arg(args, void *);
	va_end(args);
	ret = syscall(SYS_ioctl, fd, request, init);
	if (!ret && request == SDP_IOC_INIT)
		init->minor = SDP_API_MINOR - 1;
	return ret;
}
