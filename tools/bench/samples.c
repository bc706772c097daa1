// SPDX-License-Identifier: GPL-2.0
/*
 * Where the instructions of a command go, and of what it causes: samples of the CPU's
 * clock, which counts instructions in a counting VM, summed up by module and by
 * function. What runs with interrupts off is charged to where they go on.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PERIOD 10007
#define PAGES 1024
#define FUNCTIONS 25

struct symbol {
	uint64_t address;
	char name[56];
	char module[24];
	unsigned int hits;
};

struct sample {
	struct perf_event_header header;
	uint64_t ip;
};

static struct symbol *symbols;
static size_t nsymbols;

static void die(const char *what)
{
	fprintf(stderr, "samples: %s: %s\n", what, strerror(errno));
	exit(1);
}

static int by_address(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	return (x->address > y->address) - (x->address < y->address);
}

static int by_hits(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	return (x->hits < y->hits) - (x->hits > y->hits);
}

static void add_symbol(uint64_t address, const char *name, const char *module)
{
	symbols = realloc(symbols, (nsymbols + 1) * sizeof(*symbols));
	if (!symbols)
		die("realloc");
	memset(&symbols[nsymbols], 0, sizeof(*symbols));
	symbols[nsymbols].address = address;
	snprintf(symbols[nsymbols].name, sizeof(symbols->name), "%s", name);
	snprintf(symbols[nsymbols].module, sizeof(symbols->module), "%s", module);
	nsymbols++;
}

static void read_symbols(void)
{
	FILE *file = fopen("/proc/kallsyms", "r");
	char line[600], type[2], name[512], module[64];
	char address[32];

	if (!file)
		die("/proc/kallsyms");
	/* User space is below all of the kernel. */
	add_symbol(0, "", "programs");
	while (fgets(line, sizeof(line), file)) {
		snprintf(module, sizeof(module), "[kernel]");
		if (sscanf(line, "%31s %1s %511s %63s", address, type, name, module) < 3 ||
		    !strchr("tTwW", type[0]))
			continue;
		add_symbol(strtoull(address, NULL, 16), name, module);
	}
	fclose(file);
	qsort(symbols, nsymbols, sizeof(*symbols), by_address);
}

static struct symbol *find(uint64_t ip)
{
	size_t low = 0, high = nsymbols;

	while (high - low > 1) {
		size_t mid = (low + high) / 2;

		if (symbols[mid].address <= ip)
			low = mid;
		else
			high = mid;
	}
	return &symbols[low];
}

static int open_clock(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = PERIOD,
		.sample_type = PERF_SAMPLE_IP,
		.disabled = 1,
	};
	int fd = syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		die("perf_event_open");
	return fd;
}

static bool idle(const struct symbol *symbol)
{
	return strstr(symbol->name, "idle") || strstr(symbol->name, "halt");
}

/* Returns how many samples there are, without those of the idle CPU. */
static unsigned int count(const struct perf_event_mmap_page *ring)
{
	const char *data = (const char *)ring + ring->data_offset;
	unsigned int n = 0;
	uint64_t at;

	for (at = 0; at < ring->data_head;) {
		const struct sample *sample = (const void *)(data + at);
		struct symbol *symbol;

		at += sample->header.size;
		if (sample->header.type != PERF_RECORD_SAMPLE) {
			if (sample->header.type == PERF_RECORD_LOST)
				fputs("samples: too many for the buffer\n", stderr);
			continue;
		}
		symbol = find(sample->ip);
		if (idle(symbol))
			continue;
		symbol->hits++;
		n++;
	}
	return n;
}

static void show_modules(unsigned int all)
{
	struct symbol *modules = calloc(nsymbols, sizeof(*modules));
	size_t n = 0, i, j;

	if (!modules)
		die("calloc");
	for (i = 0; i < nsymbols && symbols[i].hits; i++) {
		for (j = 0; j < n && strcmp(modules[j].module, symbols[i].module); j++)
			;
		if (j == n)
			modules[n++] = symbols[i];
		else
			modules[j].hits += symbols[i].hits;
	}
	qsort(modules, n, sizeof(*modules), by_hits);
	for (i = 0; i < n; i++)
		printf("%5.1f %% %s\n", 100.0 * modules[i].hits / all, modules[i].module);
	free(modules);
}

int main(int argc, char **argv)
{
	struct perf_event_mmap_page *ring;
	unsigned int all, i;
	int fd, status;
	pid_t child;

	if (argc < 2) {
		fputs("usage: samples COMMAND [ARG...]\n", stderr);
		return 2;
	}
	fd = open_clock();
	ring = mmap(NULL, (PAGES + 1) * sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE,
		    MAP_SHARED, fd, 0);
	if (ring == MAP_FAILED)
		die("mmap");
	child = fork();
	if (child < 0)
		die("fork");
	if (!child) {
		execvp(argv[1], argv + 1);
		die(argv[1]);
	}
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	if (waitpid(child, &status, 0) != child || status)
		die("the command failed");
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	read_symbols();
	all = count(ring);
	qsort(symbols, nsymbols, sizeof(*symbols), by_hits);
	printf("%u samples\n", all);
	show_modules(all);
	for (i = 0; i < FUNCTIONS && symbols[i].hits; i++)
		printf("%5.1f %% %s %s\n", 100.0 * symbols[i].hits / all,
		       symbols[i].module, symbols[i].name);
	return 0;
}
