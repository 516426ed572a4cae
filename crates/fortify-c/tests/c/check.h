/*
 * Overflows in a child, whose end and standard error must be exactly as they should.
 *
 * Nothing here is from the printf family, so that the same objects link to a C library that has
 * neither it nor its checked form.
 */
#ifndef CHECK_H
#define CHECK_H

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* A value that the compiler does not know. (The sum turns an array into a pointer.) */
#define UNKNOWN(value) (__extension__({ __typeof__((value) + 0) hidden = (value); \
    __asm__ volatile("" : "+r"(hidden)); hidden; }))
/* The memory is looked at: what was written to it must be there. */
#define LOOK_AT(pointer) __asm__ volatile("" : : "r"(pointer) : "memory")

/* What an emulator adds to standard error when the program in it aborts. */
#ifndef EMULATOR_ADDS
#define EMULATOR_ADDS ""
#endif

struct child {
    pid_t pid;
    int out;
};

static int failures;

static inline void fail(const char *line, const char *what, const char *detail) {
    failures = 1;
    fputs("line ", stdout);
    fputs(line, stdout);
    fputs(": ", stdout);
    fputs(what, stdout);
    fputs(detail, stdout);
    fputs("\n", stdout);
    fflush(stdout);
}

/* Forks. In the child, pid is 0 and standard error is a pipe to the parent. */
static inline struct child child_begin(void) {
    int ends[2];
    if (pipe(ends) != 0)
        exit(99);
    fflush(stdout);
    struct child child = {fork(), ends[0]};
    if (child.pid < 0)
        exit(99);
    if (child.pid == 0) {
        struct rlimit none = {0, 0};
        setrlimit(RLIMIT_CORE, &none);
        dup2(ends[1], 2);
        /* What hangs fails, in place of the whole run. */
        alarm(60);
    }
    close(ends[1]);
    return child;
}

/* The child must have aborted after writing one line: the report. */
static inline void child_end(struct child child, const char *line, const char *report) {
    char text[512];
    size_t have = 0;
    ssize_t got;
    while (have < sizeof text - 1 && (got = read(child.out, UNKNOWN(text) + have, sizeof text - 1 - have)) > 0)
        have += (size_t)got;
    text[have] = 0;
    close(child.out);
    int status;
    if (waitpid(child.pid, &status, 0) != child.pid)
        exit(99);
    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGABRT)
        fail(line, "did not abort; standard error: ", text);
    static const char after[] = "\n" EMULATOR_ADDS;
    size_t length = strlen(report);
    if (have != length + sizeof after - 1 || memcmp(text, report, length) != 0
        || memcmp(UNKNOWN(text) + length, after, sizeof after) != 0)
        fail(line, "reported: ", text);
}

#define LINE_TEXT_OF(line) #line
#define LINE_TEXT(line) LINE_TEXT_OF(line)

/* The statements abort with this report and nothing else. */
#define OVERFLOWS(report, ...) do { \
    struct child overflows_child = child_begin(); \
    if (overflows_child.pid == 0) { __VA_ARGS__; _exit(0); } \
    child_end(overflows_child, LINE_TEXT(__LINE__), report); \
} while (0)

/* The condition holds. */
#define HOLDS(condition) do { \
    if (!(condition)) fail(LINE_TEXT(__LINE__), "does not hold: ", #condition); \
} while (0)

/* strlcpy and strlcat as a compiler fortifies them where the C library declares them. */
#define FORTIFIED_BOUND(function, type) \
    static inline __attribute__((always_inline)) size_t fortified_##function( \
        char *dest, const char *src, size_t n, size_t size) { \
        extern size_t __##function##_chk(char *, const char *, size_t, size_t); \
        return __##function##_chk(dest, src, n, size); \
    }
FORTIFIED_BOUND(strlcpy, size_t)
FORTIFIED_BOUND(strlcat, size_t)
#if _FORTIFY_SOURCE >= 3
#define SIZE_OF_BUFFER(pointer) __builtin_dynamic_object_size(pointer, 1)
#else
#define SIZE_OF_BUFFER(pointer) __builtin_object_size(pointer, 1)
#endif
#define strlcpy(dest, src, n) fortified_strlcpy(dest, src, n, SIZE_OF_BUFFER(dest))
#define strlcat(dest, src, n) fortified_strlcat(dest, src, n, SIZE_OF_BUFFER(dest))

/* Level 3 knows the sizes of buffers that are only known at run time; level 2 does not check them. */
#if _FORTIFY_SOURCE >= 3
#define OVERFLOWS_AT_LEVEL_3(...) OVERFLOWS(__VA_ARGS__)
#else
#define OVERFLOWS_AT_LEVEL_3(...) (void)0
#endif

#endif
