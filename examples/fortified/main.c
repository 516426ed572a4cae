/* Reads random bytes as fast as it can, and checks every report. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "fortify.h"
#include "random.h"

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

/* The pool, and the memory of the seed, the reader, the window of what was read and the label. */
static struct pool pool;
static unsigned char memory[4][BLOCK];
static const struct buffer seed = { memory[0], 32, 32 };
static const struct buffer out = { memory[1], BLOCK, 32 };
static const struct buffer window = { memory[2], BLOCK, BLOCK };
static const struct buffer label = { memory[3], 16, 16 };
static const struct buffer text = { (unsigned char *)"urandom", 8, 8 };

/* Whether there was one report since, and this one. */
static int said(enum function function, enum direction direction, size_t bytes, size_t size)
{
	static unsigned long reports;
	int right = record.reports == ++reports && record.function == function &&
		    record.direction == direction && record.bytes == bytes && record.size == size;

	if (!right)
		fprintf(stderr, "report %lu: function %d, direction %d, %zu bytes of %zu\n",
			record.reports, record.function, record.direction, record.bytes,
			record.size);
	return right;
}

/* The keystream of an all-zero key and nonce begins like this (RFC 8439, appendix A.1). */
static int check_bytes(void)
{
	static const unsigned char first[8] = { 0x76, 0xb8, 0xe0, 0xad, 0xa0, 0xf1, 0x3d, 0x90 };

	pool_init(&pool, &seed, 32);
	pool_take(&pool, &out, 8);
	return record.reports == 0 && !memcmp(out.at, first, 8);
}

/* Each report of the copies: what was asked for, and what there was. */
static int check_copies(void)
{
	const struct buffer four = { memory[1], 4, 4 };
	int right;

	memset(out.at, 1, BLOCK);
	pool_take(&pool, &four, 8);
	right = said(MEMCPY, WRITE, 8, 4) && out.at[4] == 1;
	pool_init(&pool, &four, 32);
	right &= said(MEMCPY, READ, 32, 4);
	pool_take(&pool, &out, 40);
	right &= said(MEMCPY, WRITE, 40, 32) && out.at[39] != 1;
	shift(&four, &window, 5);
	right &= said(MEMMOVE, WRITE, 5, 4);
	shift(&window, &four, 5);
	right &= said(MEMMOVE, READ, 5, 4);
	wipe(&four, 5);
	right &= said(MEMSET, WRITE, 5, 4) && out.at[4] != 0;
	right &= is_rising(&four, &window, 5) == 0 && said(MEMCMP, READ, 5, 4);
	right &= is_rising(&out, &four, 5) == 0 && said(MEMCMP, READ, 5, 4);
	return right & (has_zero(&four, 5) && said(MEMCHR, READ, 5, 4));
}

/* The same of the texts, which are cut with an end. */
static int check_texts(void)
{
	const struct buffer four = { memory[1], 4, 4 }, none = { memory[1], 0, 0 };
	const struct buffer endless = { (unsigned char *)"abcdefgh", 8, 8 };
	int right = name(&four, &text, 5) == -E2BIG && said(STRSCPY, WRITE, 5, 4);

	right &= !strcmp((char *)four.at, "ura") && name(&none, &text, 0) == -E2BIG;
	right &= name(&label, &endless, 16) == 8 && said(STRNLEN, READ, 9, 8);
	right &= name(&four, &text, 4) == -E2BIG && name(&label, &text, 16) == 7;
	right &= name_add(&label, &text, 16) == 14 && !strcmp((char *)label.at, "urandomurandom");
	right &= name_add(&label, &text, 16) == 21 && !strcmp((char *)label.at, "urandomurandomu");
	return right & (name_add(&label, &text, 17) == 22 && said(STRLCAT, WRITE, 17, 16));
}

static int check(void)
{
	if (!check_bytes() || !check_copies() || !check_texts())
		return 1;
	puts("fortified copies: correct");
	return 0;
}

/* One reading of `n` bytes; a number that depends on them. */
static int turn(size_t n)
{
	const struct buffer older = { window.at + n, BLOCK - n, BLOCK - n };
	int sum;

	pool_take(&pool, &out, n);
	sum = is_rising(&out, &window, n) + has_zero(&out, n);
	shift(&older, &window, BLOCK - n);
	shift(&window, &out, n);
	wipe(&out, n);
	return sum + name(&label, &text, n % 2 ? 8 : 16);
}

int main(int argc, char **argv)
{
	long turns = argc > 1 ? atol(argv[1]) : 0;
	unsigned long sum = 0;
	double start;

	if (argc == 2 && !strcmp(argv[1], "check"))
		return check();
	if (turns < 1) {
		fprintf(stderr, "usage: fortified check | fortified READINGS\n");
		return 2;
	}
	pool_init(&pool, &seed, 32);
	start = now_ns();
	for (long i = 0; i < turns; i++)
		sum += turn(1 + i * 7 % 32);
	printf("%.3f ns per reading\n", (now_ns() - start) / turns);
	printf("%lu, %lu reports\n", sum, record.reports);
	return 0;
}
