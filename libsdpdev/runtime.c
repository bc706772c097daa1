// SPDX-License-Identifier: GPL-2.0
/*
 * The runtime of AddressSanitizer: a library that a program needs which gcc has built with
 * -fsanitize=address.  It stands in front of the C library's calls, as our library does,
 * and it has to be the first of all libraries.  ThreadSanitizer's runtime must not be: it
 * calls the next library, ours, before others can call it.
 */
#define _GNU_SOURCE
#include <elf.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "runtime.h"

bool runtime_is(const char *name)
{
	const char *slash = strrchr(name, '/');

	name = slash ? slash + 1 : name;
	return !strncmp(name, "libasan.so", 10);
}

static bool read_at(int fd, void *to, size_t n, off_t where)
{
	return pread(fd, to, n, where) == (ssize_t)n;
}

/* Finds the first segment of a type, or of type PT_LOAD the one that an address is in. */
static bool find_segment(int fd, const Elf64_Ehdr *head, Elf64_Word type, Elf64_Addr addr,
			 Elf64_Phdr *segment)
{
	unsigned int i;

	if (head->e_phentsize != sizeof(*segment))
		return false;
	for (i = 0; i < head->e_phnum; i++) {
		if (!read_at(fd, segment, sizeof(*segment),
			     head->e_phoff + i * sizeof(*segment)))
			return false;
		if (segment->p_type == type &&
		    (type != PT_LOAD || addr - segment->p_vaddr < segment->p_filesz))
			return true;
	}
	return false;
}

/* Finds the first entry of the dynamic section, from @i on, that has the tag. */
static bool find_entry(int fd, const Elf64_Phdr *dynamic, Elf64_Sxword tag, unsigned int *i,
		       Elf64_Dyn *entry)
{
	for (; *i < dynamic->p_filesz / sizeof(*entry); ++*i) {
		if (!read_at(fd, entry, sizeof(*entry),
			     dynamic->p_offset + *i * sizeof(*entry)) ||
		    entry->d_tag == DT_NULL)
			return false;
		if (entry->d_tag == tag)
			return true;
	}
	return false;
}

bool runtime_needed(int fd, char *name, size_t size)
{
	Elf64_Phdr dynamic, strings;
	unsigned int i = 0;
	Elf64_Ehdr head;
	Elf64_Dyn entry;
	off_t names;
	ssize_t n;

	if (!read_at(fd, &head, sizeof(head), 0) ||
	    !find_segment(fd, &head, PT_DYNAMIC, 0, &dynamic) ||
	    !find_entry(fd, &dynamic, DT_STRTAB, &i, &entry) ||
	    !find_segment(fd, &head, PT_LOAD, entry.d_un.d_ptr, &strings))
		return false;
	names = entry.d_un.d_ptr - strings.p_vaddr + strings.p_offset;
	for (i = 0; find_entry(fd, &dynamic, DT_NEEDED, &i, &entry); i++) {
		n = pread(fd, name, size - 1, names + entry.d_un.d_val);
		if (n <= 0)
			return false;
		name[n] = '\0';
		if (runtime_is(name))
			return true;
	}
	return false;
}
