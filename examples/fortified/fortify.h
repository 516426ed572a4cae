/*
 * Copies that know the sizes of their buffers.
 *
 * Each function takes the size of every buffer that it touches, and cuts a request that does not
 * fit to what does. Where a size is UNKNOWN at compile time, its check compiles to nothing. A cut is
 * reported in a record that somebody reads later, and the caller goes on. No condition is hinted.
 */
#ifndef FORTIFIED_FORTIFY_H
#define FORTIFIED_FORTIFY_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

enum function { MEMCPY, MEMMOVE, MEMSET, MEMCMP, MEMCHR, STRNLEN, STRSCPY, STRLCAT };
enum direction { READ, WRITE };

/* The last report, and how many there were. */
struct record {
	unsigned long reports;
	enum function function;
	enum direction direction;
	size_t bytes, size;
};
extern struct record record;

#define UNKNOWN SIZE_MAX
#define CHECKED static inline __attribute__((always_inline))

/* Of `bytes` bytes that did not fit into the `size` bytes of a buffer. */
#ifdef COLD_REPORTS
__attribute__((cold))
void report(enum function function, enum direction direction, size_t bytes, size_t size);
#else
CHECKED void report(enum function function, enum direction direction, size_t bytes, size_t size)
{
	record.reports++;
	record.function = function;
	record.direction = direction;
	record.bytes = bytes;
	record.size = size;
}
#endif

/*
 * `to_size` is the size of the object that `to` points into, `to_field` that of its member there: a
 * write that leaves the member, but not the object, is reported and done.
 */
CHECKED void *checked_memcpy(void *to, size_t to_size, size_t to_field, const void *from,
			     size_t from_size, size_t n)
{
	if (to_size != UNKNOWN && to_size < n) {
		report(MEMCPY, WRITE, n, to_size);
		n = to_size;
	}
	if (from_size != UNKNOWN && from_size < n) {
		report(MEMCPY, READ, n, from_size);
		n = from_size;
	}
	if (to_field != UNKNOWN && to_field < n)
		report(MEMCPY, WRITE, n, to_field);
	return memcpy(to, from, n);
}

CHECKED void *checked_memmove(void *to, size_t to_size, const void *from, size_t from_size,
			      size_t n)
{
	if (to_size != UNKNOWN && to_size < n) {
		report(MEMMOVE, WRITE, n, to_size);
		n = to_size;
	}
	if (from_size != UNKNOWN && from_size < n) {
		report(MEMMOVE, READ, n, from_size);
		n = from_size;
	}
	return memmove(to, from, n);
}

CHECKED void *checked_memset(void *to, size_t to_size, int byte, size_t n)
{
	if (to_size != UNKNOWN && to_size < n) {
		report(MEMSET, WRITE, n, to_size);
		n = to_size;
	}
	return memset(to, byte, n);
}

CHECKED int checked_memcmp(const void *a, size_t a_size, const void *b, size_t b_size, size_t n)
{
	if (a_size != UNKNOWN && a_size < n) {
		report(MEMCMP, READ, n, a_size);
		n = a_size;
	}
	if (b_size != UNKNOWN && b_size < n) {
		report(MEMCMP, READ, n, b_size);
		n = b_size;
	}
	return memcmp(a, b, n);
}

CHECKED void *checked_memchr(const void *from, size_t from_size, int byte, size_t n)
{
	if (from_size != UNKNOWN && from_size < n) {
		report(MEMCHR, READ, n, from_size);
		n = from_size;
	}
	return memchr(from, byte, n);
}

/* The length of a text, at most `n`. One that has no end in its buffer ends with it. */
CHECKED size_t checked_strnlen(const char *from, size_t from_size, size_t n)
{
	size_t length = strnlen(from, from_size < n ? from_size : n);

	if (length == from_size && from_size < n)
		report(STRNLEN, READ, length + 1, from_size);
	return length;
}

/* Copies a text, or its beginning, with an end. Its length, or -E2BIG if it did not fit. */
CHECKED ssize_t checked_strscpy(char *to, size_t to_size, const char *from, size_t from_size,
				size_t n)
{
	size_t length;

	if (to_size != UNKNOWN && to_size < n) {
		report(STRSCPY, WRITE, n, to_size);
		n = to_size;
	}
	if (n == 0)
		return -E2BIG;
	length = checked_strnlen(from, from_size, n);
	if (length == n) {
		memcpy(to, from, n - 1);
		to[n - 1] = 0;
		return -E2BIG;
	}
	memcpy(to, from, length);
	to[length] = 0;
	return length;
}

/* Appends a text, or its beginning. The length that it would have liked to make. */
CHECKED size_t checked_strlcat(char *to, size_t to_size, const char *from, size_t from_size,
			       size_t n)
{
	size_t head, tail, room;

	if (to_size != UNKNOWN && to_size < n) {
		report(STRLCAT, WRITE, n, to_size);
		n = to_size;
	}
	head = checked_strnlen(to, to_size, n);
	tail = checked_strnlen(from, from_size, UNKNOWN);
	if (head == n)
		return n + tail;
	room = n - head - 1;
	if (tail < room)
		room = tail;
	memcpy(to + head, from, room);
	to[head + room] = 0;
	return head + tail;
}

#endif
