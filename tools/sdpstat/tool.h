/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What sdpstat and sdpctl need as programs: lines for people, arguments, time.
 */
#ifndef SDPSTAT_TOOL_H
#define SDPSTAT_TOOL_H

#include <stddef.h>

/* A line, behind the program's name. */
__attribute__((format(printf, 1, 2)))
void complain(const char *format, ...);

/* The same of the command line, which ends the program. */
__attribute__((format(printf, 1, 2), noreturn))
void bad_usage(const char *format, ...);

/* Without memory the program ends. */
void *grow(void *old, size_t n, size_t size);

/* An argument: seconds from @least to a day. */
double read_seconds(const char *value, double least);

/* -h, -V, and what getopt_long() has complained of. */
__attribute__((noreturn))
void take_last(int c, const char *usage, const char *version);

double clock_seconds(void);
void sleep_for(double seconds);

/* Is standard output written?  If not, that is said. */
int written(void);

#endif /* SDPSTAT_TOOL_H */
