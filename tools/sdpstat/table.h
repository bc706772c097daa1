/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A table of words as /proc has it: lines of as many words each, the first line
 * perhaps naming the columns.
 */
#ifndef SDPSTAT_TABLE_H
#define SDPSTAT_TABLE_H

#include <stdbool.h>
#include <stddef.h>

/**
 * struct table - a table read whole
 * @path: where it was read
 * @text: its text, cut into words
 * @columns: words of each line
 * @rows: lines, without the head
 * @head: names of the columns, or NULL
 * @cells: the words, row by row
 */
struct table {
	const char *path;
	char *text;
	size_t columns;
	size_t rows;
	char **head;
	char **cells;
};

/* Reads and checks @path; what is wrong with it ends the program. */
void table_read(struct table *table, const char *path, bool head);
void table_free(struct table *table);

/* The number of a named column, or table->columns. */
size_t table_column(const struct table *table, const char *name);

const char *table_cell(const struct table *table, size_t row, size_t column);

/* Ends the program: the table is not as it must be. */
__attribute__((format(printf, 3, 4), noreturn))
void table_fail(const struct table *table, size_t line, const char *format, ...);

bool table_is_number(const char *word);

/* Writes a word as JSON. */
void table_json(const char *word);

#endif /* SDPSTAT_TABLE_H */
