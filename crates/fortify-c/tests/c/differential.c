/*
 * The library beside glibc: the same calls, the same bytes, results and errno, and the same decision
 * which calls must not be made.
 *
 * Usage: differential LIBRARY. Prints what differs, or how much was compared.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum kind { BYTES, FILL, ZERO, COPY, APPEND, COPY_N, APPEND_N, CUT, APPEND_CUT };

struct function {
    const char *name;
    enum kind kind;
    /* The result is an address. Otherwise it is a length, or nothing. */
    int address;
};

static const struct function functions[] = {
    {"__memcpy_chk", BYTES, 1},      {"__memmove_chk", BYTES, 1},   {"__mempcpy_chk", BYTES, 1},
    {"__memset_chk", FILL, 1},       {"__explicit_bzero_chk", ZERO, 0},
    {"__strcpy_chk", COPY, 1},       {"__stpcpy_chk", COPY, 1},     {"__strcat_chk", APPEND, 1},
    {"__strncpy_chk", COPY_N, 1},    {"__stpncpy_chk", COPY_N, 1},  {"__strncat_chk", APPEND_N, 1},
    {"__strlcpy_chk", CUT, 0},       {"__strlcat_chk", APPEND_CUT, 0},
};

typedef uintptr_t (*three)(char *, uintptr_t, size_t);
typedef uintptr_t (*four)(char *, uintptr_t, size_t, size_t);
typedef uintptr_t (*fill)(char *, int, size_t, size_t);

enum { ARENA = 16384, BEFORE = 64, ERRNO = 4711 };

/* Where a call works: its own copy of everything that it may write. */
struct world {
    void *function;
    char arena[ARENA];
};

static struct world mine, theirs;
/* Sources end where this ends: the next page cannot be read. */
static char *source_end;
/* Bytes of the arenas that this call can reach, and some more. Only these are filled and compared. */
static size_t extent;
static unsigned long compared, refused;

/* glibc has the two from 2.38; before, this is what its manual says of them. */
static size_t plain_strlcpy(char *dest, const char *src, size_t n, size_t size) {
    if (n > size)
        abort();
    size_t length = 0;
    for (; src[length]; length++)
        if (length + 1 < n)
            dest[length] = src[length];
    if (n > 0)
        dest[length < n ? length : n - 1] = 0;
    return length;
}

static size_t plain_strlcat(char *dest, const char *src, size_t n, size_t size) {
    if (n > size)
        abort();
    size_t length = 0;
    while (length < n && dest[length])
        length++;
    return length + plain_strlcpy(dest + length, src, n - length, n - length);
}

/* Calls the function at an offset of the world's arena. An address comes back as an offset. */
static uintptr_t call(struct world *world, const struct function *function, size_t at,
                      const char *source, size_t n, size_t size) {
    char *dest = world->arena + at;
    uintptr_t from = (uintptr_t)source, result = 0;
    switch (function->kind) {
    case BYTES: case COPY_N: case APPEND_N: case CUT: case APPEND_CUT:
        result = ((four)world->function)(dest, from, n, size);
        break;
    case FILL:
        result = ((fill)world->function)(dest, *source, n, size);
        break;
    case ZERO:
        ((void (*)(char *, size_t, size_t))world->function)(dest, n, size);
        break;
    case COPY: case APPEND:
        result = ((three)world->function)(dest, from, size);
        break;
    }
    return function->address ? result - (uintptr_t)dest : result;
}

/* Bytes that must be in the destination for the call to be right. */
static size_t needed(enum kind kind, size_t there, size_t length, size_t n) {
    switch (kind) {
    case COPY: return length + 1;
    case APPEND: return there + length + 1;
    case APPEND_N: return there + (length < n ? length : n) + 1;
    default: return n;
    }
}

static void fill_arena(char *arena, size_t at, size_t there) {
    for (size_t i = 0; i < extent; i++)
        arena[i] = (char)(1 + i % 251);
    arena[at + there] = 0;
}

/* A source of `length` bytes and an end, at the end of readable memory. */
static const char *make_source(size_t length) {
    char *source = source_end - length - 1;
    for (size_t i = 0; i < length; i++)
        source[i] = (char)('A' + i % 26);
    source[length] = 0;
    return source;
}

static void differs(const struct function *function, const char *what, size_t at, size_t there,
                    size_t length, size_t n, size_t size) {
    printf("%s: %s differs at offset %zu, %zu there, source of %zu, n %zu, size %zu\n",
           function->name, what, at, there, length, n, size);
    exit(1);
}

/* One call that is right, in both worlds. */
static void same(const struct function *function, size_t at, size_t there, size_t length, size_t n,
                 size_t size) {
    const char *source = make_source(length);
    extent = at + there + 2 * length + n + 128;
    fill_arena(mine.arena, at, there);
    fill_arena(theirs.arena, at, there);
    errno = ERRNO;
    uintptr_t our_result = call(&mine, function, at, source, n, size);
    int our_errno = errno;
    errno = ERRNO;
    uintptr_t their_result = call(&theirs, function, at, source, n, size);
    if (our_result != their_result && function->kind != ZERO)
        differs(function, "result", at, there, length, n, size);
    if (our_errno != errno || our_errno != ERRNO)
        differs(function, "errno", at, there, length, n, size);
    if (memcmp(mine.arena, theirs.arena, extent) != 0)
        differs(function, "memory", at, there, length, n, size);
    compared++;
}

/* Sizes that allow the call: just enough, one more, and unknown. */
static void same_for_sizes(const struct function *function, size_t at, size_t there, size_t length,
                           size_t n) {
    size_t need = needed(function->kind, there, length, n);
    same(function, at, there, length, n, need);
    same(function, at, there, length, n, need + 1);
    same(function, at, there, length, n, SIZE_MAX);
}

static int takes_bound(enum kind kind) { return kind >= COPY_N; }
static int appends(enum kind kind) {
    return kind == APPEND || kind == APPEND_N || kind == APPEND_CUT;
}

static void good_calls(const struct function *function) {
    static const size_t large[] = {255, 256, 1000, 4000, 4095};
    for (size_t i = 0; i < 130 + sizeof large / sizeof *large; i++) {
        size_t length = i < 130 ? i : large[i - 130];
        for (size_t align = 0; align < 17; align++) {
            size_t at = BEFORE + align, there = appends(function->kind) ? align * 5 % 37 : 0;
            if (!takes_bound(function->kind)) {
                /* The source has `length` bytes, and the end is the one more that is not copied. */
                same_for_sizes(function, at, there, length, length);
                continue;
            }
            size_t bounds[] = {0, 1, length / 2, length, length + 1, length + 17,
                               there, there + 1, there + length, there + length + 1};
            for (size_t b = 0; b < sizeof bounds / sizeof *bounds; b++)
                same_for_sizes(function, at, there, length, bounds[b]);
        }
    }
}

/* memmove within one buffer, either way. */
static void overlapping_moves(const struct function *function) {
    for (size_t n = 0; n < 300; n++)
        for (int shift = -40; shift <= 40; shift++) {
            size_t at = 1024;
            extent = 2048;
            fill_arena(mine.arena, at, 0);
            fill_arena(theirs.arena, at, 0);
            uintptr_t ours = call(&mine, function, at, mine.arena + at + shift, n, n);
            uintptr_t other = call(&theirs, function, at, theirs.arena + at + shift, n, n);
            if (ours != other || memcmp(mine.arena, theirs.arena, extent) != 0)
                differs(function, "an overlapping move", at, 0, n, n, n);
            compared++;
        }
}

static sigjmp_buf before_call;
static void on_abort(int signal) {
    (void)signal;
    siglongjmp(before_call, 1);
}

/* Whether the call aborts. */
static int aborts(struct world *world, const struct function *function, size_t at,
                  const char *source, size_t n, size_t size) {
    if (sigsetjmp(before_call, 1) != 0)
        return 1;
    call(world, function, at, source, n, size);
    return 0;
}

/* Around the limit: the call is made or refused by both, and what is refused has written nothing. */
static void decisions(const struct function *function) {
    static char untouched[ARENA];
    size_t at = BEFORE;
    extent = 256;
    for (size_t there = 0; there < (appends(function->kind) ? 10 : 1); there++)
        for (size_t length = 0; length < 10; length++)
            for (size_t n = takes_bound(function->kind) ? 0 : length;
                 n < (takes_bound(function->kind) ? 14 : length + 1); n++)
                for (size_t size = 0; size < 24; size++) {
                    const char *source = make_source(length);
                    fill_arena(mine.arena, at, there);
                    fill_arena(theirs.arena, at, there);
                    memcpy(untouched, mine.arena, extent);
                    int ours = aborts(&mine, function, at, source, n, size);
                    int other = aborts(&theirs, function, at, source, n, size);
                    int right = needed(function->kind, there, length, n) > size;
                    if (ours != other || ours != right)
                        differs(function, "the decision", at, there, length, n, size);
                    if (ours && memcmp(mine.arena, untouched, extent) != 0)
                        differs(function, "memory of a refused call", at, there, length, n, size);
                    if (!ours && memcmp(mine.arena, theirs.arena, extent) != 0)
                        differs(function, "memory", at, there, length, n, size);
                    compared++;
                    refused += (unsigned long)ours;
                }
}

/* The function in a library, and in no other. */
static void *find(const char *library, const char *name) {
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    void *function = handle ? dlsym(handle, name) : NULL;
    Dl_info info;
    if (function && (!dladdr(function, &info) || !strstr(info.dli_fname, library)))
        return NULL;
    return function;
}

static void guard_source(void) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *pages = mmap(NULL, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED || mprotect(pages + 3 * page, page, PROT_NONE) != 0)
        exit(99);
    source_end = pages + 3 * page;
}

int main(int argc, char **argv) {
    if (argc != 2)
        return 99;
    guard_source();
    struct sigaction action = {.sa_handler = on_abort};
    sigaction(SIGABRT, &action, NULL);
    /* Reports of refused calls are not what is compared here. */
    dup2(open("/dev/null", O_WRONLY), 2);
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        const struct function *function = &functions[i];
        mine.function = find(argv[1], function->name);
        theirs.function = find("libc.so.6", function->name);
        if (!theirs.function && function->kind == CUT)
            theirs.function = (void *)plain_strlcpy;
        if (!theirs.function && function->kind == APPEND_CUT)
            theirs.function = (void *)plain_strlcat;
        if (!mine.function || !theirs.function) {
            printf("%s is missing\n", function->name);
            return 1;
        }
        good_calls(function);
        decisions(function);
        if (strcmp(function->name, "__memmove_chk") == 0)
            overlapping_moves(function);
    }
    printf("compared %lu refused %lu\n", compared, refused);
    return 0;
}
