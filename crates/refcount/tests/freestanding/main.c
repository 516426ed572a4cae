// Uses the counter as a C program does. Names the first check that fails.
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

void count_set(uint32_t *refs, uint32_t n);
uint32_t count_read(uint32_t *refs);
void count_inc(uint32_t *refs);
bool count_dec_and_test(uint32_t *refs);
void count_keep_faults(void);
uint32_t count_last_fault(void);

// core comes built for unwinding and names this, though nothing here unwinds.
void rust_eh_personality(void);
void rust_eh_personality(void) {}

#define CHECK(condition) \
    do { \
        if (!(condition)) { \
            printf("line %d: %s\n", __LINE__, #condition); \
            return 1; \
        } \
    } while (0)

int main(void) {
    uint32_t refs;
    count_set(&refs, 1);
    count_inc(&refs);
    CHECK(!count_dec_and_test(&refs));
    CHECK(count_dec_and_test(&refs));
    CHECK(count_read(&refs) == 0);

    // Without a handler a fault saturates and says nothing.
    count_inc(&refs);
    CHECK(count_read(&refs) == 0xC0000000u);
    CHECK(count_last_fault() == 0);

    count_keep_faults();
    CHECK(!count_dec_and_test(&refs));
    CHECK(count_read(&refs) == 0xC0000000u);
    CHECK(count_last_fault() == 4);
    return 0;
}
