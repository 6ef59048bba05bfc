/* SPDX-License-Identifier: BSD-2-Clause */
#include "workload/name.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

int uuid__new(uint8_t uuid[16])
{
	size_t got = 0;

	while (got < 16) {
		ssize_t n = getrandom(uuid + got, 16 - got, 0);

		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0)
			got += (size_t)n;
	}
	uuid[6] = (uuid[6] & 0x0f) | 0x40; /* RFC 4122: version 4, variant 1 */
	uuid[8] = (uuid[8] & 0x3f) | 0x80;
	return 0;
}

void name__from_uuid(struct router_name *n, const uint8_t uuid[16])
{
	static const char hex[] = "0123456789abcdef";
	static const char out[2] = { 'r', 'g' };
	char *p = n->uuid_text;

	memcpy(n->uuid, uuid, 16);
	for (int i = 0; i < 16; i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			*p++ = '-';
		*p++ = hex[uuid[i] >> 4];
		*p++ = hex[uuid[i] & 15];
	}
	*p = '\0';
	snprintf(n->ns, sizeof(n->ns), "bar-%s", n->uuid_text);
	for (int i = 0; i < 2; i++) {
		snprintf(n->link[i], sizeof(n->link[i]), "%co-%.11s", out[i], n->uuid_text);
		snprintf(n->peer[i], sizeof(n->peer[i]), "%ci-%.11s", out[i], n->uuid_text);
	}
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return -1;
}

bool name__parse(struct router_name *n, const char *ns)
{
	uint8_t uuid[16];
	const char *p = ns + 4;

	if (strncmp(ns, "bar-", 4))
		return false;
	for (int i = 0; i < 16; i++) {
		int hi, lo;

		if ((i == 4 || i == 6 || i == 8 || i == 10) && *p++ != '-')
			return false;
		hi = hex_digit(p[0]);
		lo = hi < 0 ? -1 : hex_digit(p[1]);
		if (lo < 0)
			return false;
		uuid[i] = (uint8_t)(hi << 4 | lo);
		p += 2;
	}
	if (*p)
		return false;
	name__from_uuid(n, uuid);
	return true;
}

int template__expand(char *dst, size_t size, const char *t, unsigned i, const char *uuid)
{
	size_t len = 0;

	while (*t) {
		char num[16];
		const char *add = t;
		size_t n = 1;

		if (!strncmp(t, "{i}", 3)) {
			n = (size_t)snprintf(num, sizeof(num), "%u", i);
			add = num;
			t += 3;
		} else if (!strncmp(t, "{uuid}", 6)) {
			n = strlen(uuid);
			add = uuid;
			t += 6;
		} else {
			t++;
		}
		if (len + n >= size)
			return -E2BIG;
		memcpy(dst + len, add, n);
		len += n;
	}
	dst[len] = '\0';
	return 0;
}
