// SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause
/*
 * The rules of libsdpdev.conf(5); see conf.h.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fnmatch.h>
#include <netinet/in.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "conf.h"

#define BLANKS	" \t\r\n"

struct word {
	const char *name;
	unsigned int value;
};

static const struct word carriers[] = {
	{ "both", 0 },
	{ "sdp", SDP_CONNECT_NO_TCP },
	{ "tcp", SDP_CONNECT_NO_SDP },
	{ NULL, 0 },
};

/* The last two are libsdp.conf's names. */
static const struct word directions[] = {
	{ "connect", CONF_CONNECT },
	{ "listen", CONF_LISTEN },
	{ "*", CONF_CONNECT | CONF_LISTEN },
	{ "client", CONF_CONNECT },
	{ "server", CONF_LISTEN },
	{ NULL, 0 },
};

__attribute__((format(printf, 3, 4)))
static int wrong(struct conf *conf, unsigned int line, const char *format, ...)
{
	va_list args;
	int n;

	n = snprintf(conf->error, sizeof(conf->error), "%s:%u: ", conf->path, line);
	if (n < (int)sizeof(conf->error)) {
		va_start(args, format);
		vsnprintf(conf->error + n, sizeof(conf->error) - n, format, args);
		va_end(args);
	}
	return sdp_fail(EINVAL);
}

static int unreadable(struct conf *conf)
{
	int error = errno;

	snprintf(conf->error, sizeof(conf->error), "%s: %s", conf->path,
		 strerrordesc_np(error));
	return sdp_fail(error);
}

static bool find_word(const struct word *words, const char *name, unsigned int *value)
{
	for (; words->name; words++) {
		if (strcmp(words->name, name))
			continue;
		*value = words->value;
		return true;
	}
	return false;
}

/* All of @text, and nothing else, as a number. */
static bool number(const char *text, unsigned int most, unsigned int *value)
{
	char *end;
	unsigned long n;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	n = strtoul(text, &end, 10);
	*value = n;
	return !errno && !*end && n <= most;
}

/* PORT, FIRST-LAST or "*" */
static bool parse_ports(struct conf_rule *rule, char *text)
{
	char *last = strchr(text, '-');

	if (!strcmp(text, "*"))
		return true;
	if (last)
		*last++ = '\0';
	if (!number(text, UINT16_MAX, &rule->port_min))
		return false;
	rule->port_max = rule->port_min;
	return !last || (number(last, UINT16_MAX, &rule->port_max) &&
			 rule->port_min <= rule->port_max);
}

/* ADDR, ADDR/PREFIX, where an IPv6 ADDR has brackets, or "*" */
static bool parse_host(struct conf_rule *rule, char *text)
{
	char *prefix = strchr(text, '/'), *end;
	unsigned int most;

	if (!strcmp(text, "*"))
		return true;
	if (prefix)
		*prefix++ = '\0';
	if (*text == '[') {
		end = strchr(text, ']');
		if (!end || end[1])
			return false;
		*end = '\0';
		rule->family = AF_INET6;
		text++;
	} else {
		rule->family = AF_INET;
	}
	if (inet_pton(rule->family, text, rule->addr) != 1)
		return false;
	most = rule->family == AF_INET6 ? 128 : 32;
	rule->prefix = most;
	return !prefix || number(prefix, most, &rule->prefix);
}

/* HOST[:PORTS] */
static int parse_address(struct conf *conf, struct conf_rule *rule, char *text)
{
	char *bracket = strchr(text, ']');
	char *ports = strchr(bracket ? bracket : text, ':');
	char *whole = strdupa(text);

	rule->port_max = UINT16_MAX;
	if (ports)
		*ports++ = '\0';
	if (!parse_host(rule, text))
		return wrong(conf, rule->line,
			     "'%s' is no address such as *, 10.0.0.0/8 or [fd00::]/8:80", whole);
	if (ports && !parse_ports(rule, ports))
		return wrong(conf, rule->line,
			     "'%s': the port is none of 1, 1-65535 and the like, and *", whole);
	return 0;
}

/*
 * A number, or a name from /etc/passwd: looking further could take libraries
 * and connections of its own.
 */
static int parse_user(struct conf *conf, struct conf_rule *rule, const char *name)
{
	struct passwd *user;
	unsigned int id;
	FILE *file;

	rule->any_user = false;
	if (number(name, UINT32_MAX - 1, &id)) {
		rule->user = id;
		return 0;
	}
	file = fopen("/etc/passwd", "re");
	while (file && (user = fgetpwent(file))) {
		if (strcmp(user->pw_name, name))
			continue;
		rule->user = user->pw_uid;
		fclose(file);
		return 0;
	}
	if (file)
		fclose(file);
	return wrong(conf, rule->line, "user '%s' is not in /etc/passwd", name);
}

enum {
	WORD_USE,
	WORD_CARRIER,
	WORD_DIRECTION,
	WORD_PROGRAM,
	WORD_ADDRESS,
	WORD_USER,
	WORD_USER_NAME,
	WORDS,
};

/* What the words say; the program's pattern is left in @program. */
static int parse_words(struct conf *conf, struct conf_rule *rule, char **word,
		       const char **program)
{
	if (strcmp(word[WORD_USE], "use"))
		return wrong(conf, rule->line, "'%s': a rule begins with 'use'",
			     word[WORD_USE]);
	if (!word[WORD_ADDRESS] || (word[WORD_USER] && !word[WORD_USER_NAME]))
		return wrong(conf, rule->line,
			     "words are missing: use CARRIER DIRECTION PROGRAM ADDRESS[:PORT] [user USER]");
	if (!find_word(carriers, word[WORD_CARRIER], &rule->carriers))
		return wrong(conf, rule->line, "carrier '%s' is none of sdp, tcp and both",
			     word[WORD_CARRIER]);
	if (!find_word(directions, word[WORD_DIRECTION], &rule->directions))
		return wrong(conf, rule->line, "direction '%s' is none of connect, listen and *",
			     word[WORD_DIRECTION]);
	*program = word[WORD_PROGRAM];
	if (parse_address(conf, rule, word[WORD_ADDRESS]))
		return -1;
	rule->any_user = true;
	if (!word[WORD_USER])
		return 0;
	if (strcmp(word[WORD_USER], "user"))
		return wrong(conf, rule->line, "'%s': only 'user USER' may follow the address",
			     word[WORD_USER]);
	return parse_user(conf, rule, word[WORD_USER_NAME]);
}

/* A rule of the line, or none where it says nothing. */
static int parse_line(struct conf *conf, char *line, struct conf_rule *rule,
		      const char **program)
{
	char *word[WORDS + 1] = { NULL }, *rest;
	unsigned int n;

	for (n = 0; n <= WORDS; n++) {
		word[n] = strtok_r(n ? NULL : line, BLANKS, &rest);
		if (!word[n])
			break;
	}
	*program = NULL;
	if (!n)
		return 0;
	if (n > WORDS)
		return wrong(conf, rule->line, "'%s' is one word too many", word[WORDS]);
	return parse_words(conf, rule, word, program);
}

/* With a slash it is about the file, otherwise about the name it is called by. */
static bool concerns(const char *pattern, const char *program, const char *file)
{
	if (strchr(pattern, '/'))
		return !fnmatch(pattern, file, FNM_PATHNAME);
	return !fnmatch(pattern, program, 0);
}

/* Without the blanks at either end. */
static char *trimmed(char *line)
{
	size_t len;

	line += strspn(line, BLANKS);
	for (len = strlen(line); len && strchr(BLANKS, line[len - 1]); len--)
		line[len - 1] = '\0';
	return line;
}

static int read_rules(struct conf *conf, FILE *file, const char *program,
		      const char *path)
{
	struct conf_rule **last = &conf->rules, rule, *copy;
	const char *pattern;
	unsigned int count = 0;
	char *line = NULL, *text;
	size_t size = 0;
	int ret = 0;

	while (!ret && getline(&line, &size, file) >= 0) {
		line[strcspn(line, "#\r\n")] = '\0';
		text = strdup(trimmed(line));
		memset(&rule, 0, sizeof(rule));
		rule.line = ++count;
		ret = parse_line(conf, line, &rule, &pattern);
		if (ret || !pattern || !concerns(pattern, program, path)) {
			free(text);
			continue;
		}
		rule.text = text;
		copy = malloc(sizeof(*copy));
		if (!copy || !text) {
			free(copy);
			free(text);
			ret = wrong(conf, count, "no memory");
			break;
		}
		*copy = rule;
		*last = copy;
		last = &copy->next;
	}
	/* Rules that were not read might refuse TCP.  A directory can be opened, too. */
	if (!ret && !feof(file))
		ret = unreadable(conf);
	free(line);
	return ret;
}

int conf_read(struct conf *conf, const char *path, const char *program, const char *file)
{
	FILE *stream;
	int ret;

	memset(conf, 0, sizeof(*conf));
	conf->path = path;
	stream = fopen(path, "re");
	if (!stream)
		return unreadable(conf);
	ret = read_rules(conf, stream, program, file);
	fclose(stream);
	return ret;
}

/* The address in network order, as IPv4 where IPv6 only wraps that, and its port. */
static const unsigned char *bytes_of(const struct sockaddr *addr, sa_family_t *family,
				     unsigned int *port)
{
	const struct sockaddr_in6 *in6 = (const void *)addr;
	const struct sockaddr_in *in = (const void *)addr;

	*family = addr->sa_family;
	*port = ntohs(in->sin_port);
	/* Old programs give an address the family of the socket. */
	if (*family == AF_INET_OFFLOAD)
		*family = AF_INET;
	if (*family == AF_INET)
		return (const void *)&in->sin_addr;
	if (!IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr))
		return in6->sin6_addr.s6_addr;
	*family = AF_INET;
	return in6->sin6_addr.s6_addr + 12;
}

static bool same_prefix(const unsigned char *a, const unsigned char *b, unsigned int bits)
{
	unsigned int bytes = bits / 8, rest = bits % 8;

	if (memcmp(a, b, bytes))
		return false;
	return !rest || !((a[bytes] ^ b[bytes]) >> (8 - rest));
}

static bool for_user(const struct conf_rule *rule)
{
	return rule->any_user || rule->user == geteuid();
}

const struct conf_rule *conf_match(const struct conf *conf, unsigned int direction,
				   const struct sockaddr *addr)
{
	const struct conf_rule *rule;
	const unsigned char *bytes;
	sa_family_t family;
	unsigned int port;

	bytes = bytes_of(addr, &family, &port);
	for (rule = conf->rules; rule; rule = rule->next) {
		if (!(rule->directions & direction) ||
		    port < rule->port_min || port > rule->port_max)
			continue;
		if (rule->family != AF_UNSPEC &&
		    (rule->family != family ||
		     !same_prefix(rule->addr, bytes, rule->prefix)))
			continue;
		if (for_user(rule))
			return rule;
	}
	return NULL;
}

bool conf_never_sdp(const struct conf *conf)
{
	unsigned int open = CONF_CONNECT | CONF_LISTEN;
	const struct conf_rule *rule;

	for (rule = conf->rules; rule && open; rule = rule->next) {
		if (!(rule->directions & open) || !for_user(rule))
			continue;
		if (!(rule->carriers & SDP_CONNECT_NO_SDP))
			return false;
		if (rule->family == AF_UNSPEC && !rule->port_min &&
		    rule->port_max == UINT16_MAX)
			open &= ~rule->directions;
	}
	return !open;
}

const struct conf_rule *conf_only_sdp(const struct conf *conf, unsigned int directions)
{
	const struct conf_rule *rule;

	for (rule = conf->rules; rule; rule = rule->next)
		if ((rule->directions & directions) &&
		    (rule->carriers & SDP_CONNECT_NO_TCP) && for_user(rule))
			break;
	return rule;
}
