/*
 * A generator of random bytes, read as a device is: in small pieces that are copied out, looked at
 * and forgotten.
 */
#ifndef FORTIFIED_RANDOM_H
#define FORTIFIED_RANDOM_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define BLOCK 64

/* Memory of `size` bytes, of which one write fills a field of `field`. */
struct buffer {
	unsigned char *at;
	size_t size, field;
};

/* The state of the keystream, and its newest block, given out up to `used`. */
struct pool {
	uint32_t state[16];
	unsigned char block[BLOCK];
	size_t used;
};

void pool_init(struct pool *pool, const struct buffer *seed, size_t n);

/* Copies the next `n` bytes to `out`, at most a block. */
void pool_take(struct pool *pool, const struct buffer *out, size_t n);

/* Moves the first `n` bytes of one buffer into another, which may overlap it. */
void shift(const struct buffer *to, const struct buffer *from, size_t n);

/* Whether the first `n` bytes of one buffer are greater than those of another. */
int is_rising(const struct buffer *one, const struct buffer *other, size_t n);

/* Whether there is a zero among the first `n` bytes. */
int has_zero(const struct buffer *buffer, size_t n);

/* Forgets the first `n` bytes. */
void wipe(const struct buffer *buffer, size_t n);

/* Names the buffer after a text of at most `n` bytes; its length, or negative if it was cut. */
ssize_t name(const struct buffer *buffer, const struct buffer *text, size_t n);

/* Adds a text to the name. */
size_t name_add(const struct buffer *buffer, const struct buffer *text, size_t n);

#endif
