// SPDX-License-Identifier: GPL-2.0
/*
 * Reading tables of words; see table.h.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "endpoint.h"
#include "table.h"

#define WORDS_MAX	64	/* on a line */

void table_fail(const struct table *table, size_t line, const char *format, ...)
{
	va_list args;

	fprintf(stderr, "%s: %s:%zu: ", program_invocation_short_name, table->path, line);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	exit(1);
}

static char *read_text(const char *path)
{
	size_t size = 0, room = 0, n;
	FILE *file = fopen(path, "re");
	char *text = NULL;

	if (!file) {
		complain("%s: %s%s", path, strerror(errno),
			 errno == ENOENT ? " (is the module sdpdev loaded?)" : "");
		exit(1);
	}
	do {
		if (room - size < 4096) {
			room = 2 * room + 8192;
			text = grow(text, room, 1);
		}
		n = fread(text + size, 1, room - size - 1, file);
		size += n;
	} while (n);
	if (ferror(file)) {
		complain("%s: %s", path, strerror(errno));
		exit(1);
	}
	fclose(file);
	text[size] = '\0';
	return text;
}

/* Cuts a line into words, at most WORDS_MAX. */
static size_t cut(char *line, char **words)
{
	char *state, *word = strtok_r(line, " \t", &state);
	size_t n = 0;

	while (word && n < WORDS_MAX) {
		words[n++] = word;
		word = strtok_r(NULL, " \t", &state);
	}
	return word ? WORDS_MAX + 1 : n;
}

void table_read(struct table *table, const char *path, bool head)
{
	char *words[WORDS_MAX], *line, *rest;
	size_t n, at = 0, lines = 0;

	memset(table, 0, sizeof(*table));
	table->path = path;
	table->text = read_text(path);
	rest = table->text;
	while ((line = strsep(&rest, "\n"))) {
		if (!rest && !*line)
			break;
		n = cut(line, words);
		lines++;
		if (!table->columns)
			table->columns = n;
		if (!n || n > WORDS_MAX)
			table_fail(table, lines, "no words, or too many");
		if (n != table->columns)
			table_fail(table, lines, "%zu words where there were %zu before",
				   n, table->columns);
		table->cells = grow(table->cells, at + n, sizeof(*words));
		memcpy(table->cells + at, words, n * sizeof(*words));
		at += n;
	}
	if (head && !lines)
		table_fail(table, 1, "no line that names the columns");
	table->rows = lines;
	if (head) {
		table->rows--;
		table->head = table->cells;
	}
}

void table_free(struct table *table)
{
	free(table->cells);
	free(table->text);
}

size_t table_column(const struct table *table, const char *name)
{
	size_t i;

	for (i = 0; i < table->columns; i++)
		if (!strcmp(table->head[i], name))
			break;
	return i;
}

const char *table_cell(const struct table *table, size_t row, size_t column)
{
	return table->cells[(row + !!table->head) * table->columns + column];
}

bool table_is_number(const char *word)
{
	return *word && !word[strspn(word, "0123456789")] && (*word != '0' || !word[1]);
}

void table_json(const char *word)
{
	putchar('"');
	for (; *word; word++) {
		if (*word == '"' || *word == '\\')
			printf("\\%c", *word);
		else if ((unsigned char)*word < 0x20)
			printf("\\u%04x", *word);
		else
			putchar(*word);
	}
	putchar('"');
}
