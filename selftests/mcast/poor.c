// SPDX-License-Identifier: GPL-2.0
/*
 * Loaded before a program: the call of the library of sdprun --mcast for memory whose number is in
 * POOR fails, and a line says so.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <link.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void *__libc_calloc(size_t n, size_t size);
void *__libc_malloc(size_t size);
void *__libc_memalign(size_t align, size_t size);
void *__libc_realloc(void *old, size_t size);

static uintptr_t first, last;
static long count;

static int find(struct dl_phdr_info *info, size_t size, void *unused)
{
	int i;

	(void)size;
	(void)unused;
	if (!strstr(info->dlpi_name, "libsdpmcastrun"))
		return 0;
	first = info->dlpi_addr;
	for (i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_LOAD)
			last = first + info->dlpi_phdr[i].p_vaddr + info->dlpi_phdr[i].p_memsz;
	return 1;
}

__attribute__((constructor))
static void start(void)
{
	const char *number = getenv("POOR");

	count = number ? atol(number) : 0;
	dl_iterate_phdr(find, NULL);
}

/* Is it the call of @caller that fails? */
static int fails(const void *caller)
{
	static const char line[] = "poor: a call failed\n";

	if ((uintptr_t)caller < first || (uintptr_t)caller >= last ||
	    __atomic_sub_fetch(&count, 1, __ATOMIC_RELAXED))
		return 0;
	if (write(2, line, sizeof(line) - 1) < 0)
		abort();
	errno = ENOMEM;
	return 1;
}

void *calloc(size_t n, size_t size)
{
	return fails(__builtin_return_address(0)) ? NULL : __libc_calloc(n, size);
}

void *malloc(size_t size)
{
	return fails(__builtin_return_address(0)) ? NULL : __libc_malloc(size);
}

void *realloc(void *old, size_t size)
{
	return fails(__builtin_return_address(0)) ? NULL : __libc_realloc(old, size);
}

int posix_memalign(void **to, size_t align, size_t size)
{
	*to = fails(__builtin_return_address(0)) ? NULL : __libc_memalign(align, size);
	return *to ? 0 : errno;
}
