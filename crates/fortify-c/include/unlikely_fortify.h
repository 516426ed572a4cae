/*
 * unlikely_fortify - what to do when a copy would leave its buffer.
 *
 * Programs compiled with -D_FORTIFY_SOURCE=2 or 3 need no change and no call: link or preload the
 * library, and overflows found by __memcpy_chk and its relatives are reported as
 *
 *     memcpy: detected buffer overflow: 8 byte write of buffer size 4
 *
 * on standard error, before a byte has moved; then the process aborts. This header is for programs
 * that want the report themselves.
 *
 * Checked: memcpy memmove mempcpy memset explicit_bzero strcpy stpcpy strncpy stpncpy strcat strncat
 * strlcpy strlcat, and __chk_fail for checks made elsewhere.
 *
 * Linked statically, the library needs from the C library: memcpy memmove mempcpy memset
 * explicit_bzero strlen strnlen strncpy stpncpy abort. Nothing else, and nothing of Rust.
 */
#ifndef UNLIKELY_FORTIFY_H
#define UNLIKELY_FORTIFY_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* An overflow that was about to happen. Later versions may add members at the end. */
struct unlikely_fortify_overflow {
    /* Name of the function in C, such as "memcpy". NULL if only __chk_fail was called; then bytes,
     * size and write say nothing. Valid for ever. */
    const char *function;
    /* The whole report as one line, without the line's end. Valid until the handler returns. */
    const char *report;
    /* Bytes that were asked for. */
    size_t bytes;
    /* Bytes in the buffer that would have been overrun. */
    size_t size;
    /* 1 if the buffer would have been written, 0 if it would have been read. */
    int write;
};

/*
 * Takes a report. It runs on the stack of the thread that was about to overflow, perhaps inside a
 * signal handler: what is not async-signal-safe is at the program's own risk. It may end the process
 * or the thread, or leave by longjmp. If it returns, the process aborts. It must not throw. An
 * overflow inside the handler calls the handler again.
 */
typedef void (*unlikely_fortify_handler)(const struct unlikely_fortify_overflow *overflow);

/*
 * Sends every later report, of any thread, to the handler instead of standard error; NULL restores
 * that. Returns the handler that was set before, or NULL. Async-signal-safe.
 */
unlikely_fortify_handler unlikely_fortify_set_handler(unlikely_fortify_handler handler);

#ifdef __cplusplus
}
#endif

#endif
