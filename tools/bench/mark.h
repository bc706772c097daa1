/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where count.c begins and ends to count: instructions that do nothing, nopl with
 * a displacement that no compiler has a reason for.
 */
#ifndef MARK_H
#define MARK_H

#define MARK_BEGIN	0x0f, 0x1f, 0x84, 0x00, 0xb1, 0x9b, 0x5d, 0x42
#define MARK_END	0x0f, 0x1f, 0x84, 0x00, 0xb2, 0x9b, 0x5d, 0x42

#define MARK_BYTES(...)	MARK_STRING(__VA_ARGS__)
#define MARK_STRING(...) #__VA_ARGS__
#define MARK(which)	__asm__ volatile(".byte " MARK_BYTES(which) ::: "memory")

#endif
