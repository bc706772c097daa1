// SPDX-License-Identifier: GPL-2.0
/*
 * A plugin of the emulator: how often each piece of the machine's code was executed
 * between two marks that a program sets (meter.c), in instructions. Written to the
 * file that the argument out= names, a line for each piece: its address, in
 * hexadecimal, the instructions, how often it was entered, and, with stores=on, the
 * bytes that it has stored.
 *
 * The emulator's plugin interface has no header in a package, so what is used of it
 * is declared here.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mark.h"

#define EXPORT __attribute__((visibility("default")))

/* --- the emulator's interface ------------------------------------------------ */

#define INTERFACE	4
#define CB_NO_REGS	0
#define MEM_W		2
#define INLINE_ADD_U64	0

struct qemu_plugin_tb;
struct qemu_plugin_insn;
struct qemu_plugin_scoreboard;

/* One number for each CPU, at an offset in the CPU's part of a score board. */
struct qemu_plugin_u64 {
	struct qemu_plugin_scoreboard *score;
	size_t offset;
};

void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t id,
					   void (*cb)(uint64_t id, struct qemu_plugin_tb *tb));
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t i);
size_t qemu_plugin_insn_data(const struct qemu_plugin_insn *insn, void *dest, size_t len);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn,
					    void (*cb)(unsigned int cpu, void *data),
					    int flags, void *data);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *insn,
				      void (*cb)(unsigned int cpu, uint32_t info,
						 uint64_t address, void *data),
				      int flags, int which, void *data);
unsigned int qemu_plugin_mem_size_shift(uint32_t info);
void qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(struct qemu_plugin_tb *tb, int op,
						       struct qemu_plugin_u64 entry,
						       uint64_t imm);
struct qemu_plugin_scoreboard *qemu_plugin_scoreboard_new(size_t size);
uint64_t qemu_plugin_u64_get(struct qemu_plugin_u64 entry, unsigned int cpu);

EXPORT int qemu_plugin_version = INTERFACE;
EXPORT int qemu_plugin_install(uint64_t id, const void *info, int argc, char **argv);

/* --- counters ---------------------------------------------------------------- */

/* More than a machine executes in an hour. */
#define PIECES (1 << 20)

/*
 * A hash table that only grows; the place of a piece is that of its counter, too.
 * The machine has one CPU, so that nothing runs beside the functions here.
 */
static struct {
	uint64_t address;
	uint64_t before;
	uint64_t stored;	/* since the last begin */
	size_t length;
} pieces[PIECES];
static unsigned int npieces;
static struct qemu_plugin_scoreboard *counters;
static const char *out;
static bool stores;

static struct qemu_plugin_u64 counter(size_t i)
{
	return (struct qemu_plugin_u64){ counters, i * sizeof(uint64_t) };
}

static size_t place(uint64_t address)
{
	size_t i = (address * 0x9e3779b97f4a7c15ULL) >> 44;

	while (pieces[i].address && pieces[i].address != address)
		i = (i + 1) % PIECES;
	if (!pieces[i].address) {
		if (++npieces > PIECES / 2) {
			fputs("count: too much code\n", stderr);
			exit(1);
		}
		pieces[i].address = address;
	}
	return i;
}

static void start(unsigned int cpu, void *data)
{
	size_t i;

	(void)data;
	for (i = 0; i < PIECES; i++) {
		pieces[i].before = qemu_plugin_u64_get(counter(i), cpu);
		pieces[i].stored = 0;
	}
}

static void stop(unsigned int cpu, void *data)
{
	FILE *file = fopen(out, "w");
	uint64_t n;
	size_t i;

	(void)data;
	if (!file) {
		perror(out);
		return;
	}
	for (i = 0; i < PIECES; i++) {
		n = qemu_plugin_u64_get(counter(i), cpu) - pieces[i].before;
		if (n)
			fprintf(file, "%016" PRIx64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
				pieces[i].address, n, n / pieces[i].length, pieces[i].stored);
	}
	fclose(file);
}

static void stored(unsigned int cpu, uint32_t info, uint64_t address, void *data)
{
	(void)cpu;
	(void)address;
	*(uint64_t *)data += 1ULL << qemu_plugin_mem_size_shift(info);
}

static void look_for_marks(struct qemu_plugin_insn *insn)
{
	static const uint8_t begin[] = { MARK_BEGIN }, end[] = { MARK_END };
	uint8_t code[sizeof(begin)];

	if (qemu_plugin_insn_data(insn, code, sizeof(code)) != sizeof(code))
		return;
	if (!memcmp(code, begin, sizeof(code)))
		qemu_plugin_register_vcpu_insn_exec_cb(insn, start, CB_NO_REGS, NULL);
	else if (!memcmp(code, end, sizeof(code)))
		qemu_plugin_register_vcpu_insn_exec_cb(insn, stop, CB_NO_REGS, NULL);
}

static void translated(uint64_t id, struct qemu_plugin_tb *tb)
{
	size_t n = qemu_plugin_tb_n_insns(tb), i, piece = place(qemu_plugin_tb_vaddr(tb));
	struct qemu_plugin_insn *insn;

	(void)id;
	pieces[piece].length = n;
	qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(tb, INLINE_ADD_U64, counter(piece), n);
	for (i = 0; i < n; i++) {
		insn = qemu_plugin_tb_get_insn(tb, i);
		look_for_marks(insn);
		if (stores)
			qemu_plugin_register_vcpu_mem_cb(insn, stored, CB_NO_REGS, MEM_W,
							 &pieces[piece].stored);
	}
}

int qemu_plugin_install(uint64_t id, const void *info, int argc, char **argv)
{
	(void)info;
	stores = argc == 2 && !strcmp(argv[1], "stores=on");
	if (argc != 1 + stores || strncmp(argv[0], "out=", 4)) {
		fputs("count: wants out=FILE[,stores=on]\n", stderr);
		return -1;
	}
	out = strdup(argv[0] + 4);
	counters = qemu_plugin_scoreboard_new(PIECES * sizeof(uint64_t));
	qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
	return 0;
}
