/* The settable handler: what it is told, what it may do, and what becomes of the process. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <unlikely_fortify.h>

#include "check.h"

static sigjmp_buf before_overflow;
static struct unlikely_fortify_overflow told;
static char told_report[200];
static int told_errno;

static void note(const struct unlikely_fortify_overflow *overflow) {
    told_errno = errno;
    told = *overflow;
    strncpy(UNKNOWN(told_report), overflow->report, sizeof told_report - 1);
}

static void leave(const struct unlikely_fortify_overflow *overflow) {
    note(overflow);
    siglongjmp(before_overflow, 1);
}

static void say(const struct unlikely_fortify_overflow *overflow) {
    const char *text[] = {"mine: ", overflow->report, "\n"};
    for (int i = 0; i < 3; i++)
        if (write(2, text[i], strlen(text[i])) < 0)
            _exit(98);
}

static void end(const struct unlikely_fortify_overflow *overflow) {
    (void)overflow;
    _exit(7);
}

static char small[4];

static void overrun(size_t n) {
    memcpy(small, UNKNOWN("0123456789"), UNKNOWN(n));
    LOOK_AT(small);
}

static void overrun_on_signal(int signal) {
    (void)signal;
    overrun(9);
}

static void *overrun_when_cancelled(void *unused) {
    pthread_cancel(pthread_self());
    overrun(8);
    return unused;
}

/* The handler has every fact, and may leave by a jump: any number of times. */
static void handler_is_told_and_may_jump(void) {
    HOLDS(unlikely_fortify_set_handler(leave) == NULL);
    for (size_t n = 5; n < 10; n++) {
        memset(&told, 0, sizeof told);
        errno = 77;
        small[0] = 'x';
        if (sigsetjmp(before_overflow, 1) == 0) {
            overrun(n);
            fail("0", "the handler was not called", "");
        }
        HOLDS(strcmp(told.function, "memcpy") == 0);
        HOLDS(told.bytes == n && told.size == 4 && told.write == 1);
        HOLDS(told_errno == 77 && errno == 77);
        HOLDS(small[0] == 'x');
    }
    HOLDS(strcmp(told_report, "memcpy: detected buffer overflow: 9 byte write of buffer size 4") == 0);

    char open[4];
    memcpy(UNKNOWN((char *)open), "abcd", 4);
    if (sigsetjmp(before_overflow, 1) == 0) {
        strcat(open, UNKNOWN("e"));
        LOOK_AT(open);
    }
    HOLDS(strcmp(told.function, "strcat") == 0);
    HOLDS(told.bytes == 5 && told.size == 4 && told.write == 0);

    if (sigsetjmp(before_overflow, 1) == 0) {
        extern void __chk_fail(void);
        __chk_fail();
    }
    HOLDS(told.function == NULL);
    HOLDS(strcmp(told_report,
                 "detected buffer overflow: neither function nor size is known") == 0);
    HOLDS(unlikely_fortify_set_handler(NULL) == leave);
}

static void process_ends_however_the_handler_does(void) {
    OVERFLOWS("mine: memcpy: detected buffer overflow: 8 byte write of buffer size 4",
              unlikely_fortify_set_handler(say); overrun(8));
    OVERFLOWS("memcpy: detected buffer overflow: 8 byte write of buffer size 4",
              unlikely_fortify_set_handler(say); unlikely_fortify_set_handler(NULL); overrun(8));

    struct child child = child_begin();
    if (child.pid == 0) {
        unlikely_fortify_set_handler(end);
        overrun(8);
        _exit(0);
    }
    int status;
    waitpid(child.pid, &status, 0);
    HOLDS(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    close(child.out);
}

static void report_comes_out_where_little_works(void) {
    OVERFLOWS("memcpy: detected buffer overflow: 9 byte write of buffer size 4",
              signal(SIGUSR1, overrun_on_signal); raise(SIGUSR1));
    OVERFLOWS("memcpy: detected buffer overflow: 8 byte write of buffer size 4",
              struct rlimit none = {0, 0}; setrlimit(RLIMIT_AS, &none); overrun(8));
    /* A thread that is to be cancelled must not end, quietly, while it reports. */
    OVERFLOWS("memcpy: detected buffer overflow: 8 byte write of buffer size 4",
              pthread_t thread; pthread_create(&thread, NULL, overrun_when_cancelled, NULL);
              pthread_join(thread, NULL));

    /* Nor may it go on where nobody can be told. */
    struct child child = child_begin();
    if (child.pid == 0) {
        close(2);
        overrun(8);
        _exit(0);
    }
    int status;
    waitpid(child.pid, &status, 0);
    HOLDS(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    close(child.out);
}

/* A full pipe that does not block takes nothing: the process ends without its report. */
static void reporting_never_hangs(void) {
    struct child child = child_begin();
    if (child.pid == 0) {
        fcntl(2, F_SETFL, O_NONBLOCK);
        while (write(2, "x", 1) == 1)
            ;
        overrun(8);
        _exit(0);
    }
    int status;
    waitpid(child.pid, &status, 0);
    HOLDS(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    close(child.out);
}

int main(void) {
    process_ends_however_the_handler_does();
    report_comes_out_where_little_works();
    reporting_never_hangs();
    handler_is_told_and_may_jump();
    return failures;
}
