#include "random.h"

#include "fortify.h"

static uint32_t rotate(uint32_t x, int by)
{
	return x << by | x >> (32 - by);
}

static void quarter(uint32_t *s, int a, int b, int c, int d)
{
	s[a] += s[b], s[d] = rotate(s[d] ^ s[a], 16);
	s[c] += s[d], s[b] = rotate(s[b] ^ s[c], 12);
	s[a] += s[b], s[d] = rotate(s[d] ^ s[a], 8);
	s[c] += s[d], s[b] = rotate(s[b] ^ s[c], 7);
}

/* The next block of the ChaCha20 keystream (RFC 8439, section 2.3). */
static void keystream(uint32_t *state, uint32_t *out)
{
	for (int i = 0; i < 16; i++)
		out[i] = state[i];
	for (int i = 0; i < 10; i++) {
		quarter(out, 0, 4, 8, 12);
		quarter(out, 1, 5, 9, 13);
		quarter(out, 2, 6, 10, 14);
		quarter(out, 3, 7, 11, 15);
		quarter(out, 0, 5, 10, 15);
		quarter(out, 1, 6, 11, 12);
		quarter(out, 2, 7, 8, 13);
		quarter(out, 3, 4, 9, 14);
	}
	for (int i = 0; i < 16; i++)
		out[i] += state[i];
	state[12]++;
}

static void refill(struct pool *pool)
{
	uint32_t fresh[16];

	keystream(pool->state, fresh);
	memcpy(pool->block, fresh, BLOCK);
	pool->used = 0;
}

void pool_init(struct pool *pool, const struct buffer *seed, size_t n)
{
	static const uint32_t expand[4] = { 0x61707865, 0x3320646e, 0x79622d32, 0x6b206574 };

	memset(pool, 0, sizeof(*pool));
	memcpy(pool->state, expand, sizeof(expand));
	checked_memcpy(pool->state + 4, 32, 32, seed->at, seed->size, n);
	pool->used = BLOCK;
}

void pool_take(struct pool *pool, const struct buffer *out, size_t n)
{
	if (pool->used + n > BLOCK)
		refill(pool);
	checked_memcpy(out->at, out->size, out->field, pool->block + pool->used,
		       BLOCK - pool->used, n);
	pool->used += n;
}

void shift(const struct buffer *to, const struct buffer *from, size_t n)
{
	checked_memmove(to->at, to->size, from->at, from->size, n);
}

int is_rising(const struct buffer *one, const struct buffer *other, size_t n)
{
	return checked_memcmp(one->at, one->size, other->at, other->size, n) > 0;
}

int has_zero(const struct buffer *buffer, size_t n)
{
	return checked_memchr(buffer->at, buffer->size, 0, n) != NULL;
}

void wipe(const struct buffer *buffer, size_t n)
{
	checked_memset(buffer->at, buffer->size, 0, n);
}

ssize_t name(const struct buffer *buffer, const struct buffer *text, size_t n)
{
	return checked_strscpy((char *)buffer->at, buffer->size, (char *)text->at, text->size, n);
}

size_t name_add(const struct buffer *buffer, const struct buffer *text, size_t n)
{
	return checked_strlcat((char *)buffer->at, buffer->size, (char *)text->at, text->size, n);
}
