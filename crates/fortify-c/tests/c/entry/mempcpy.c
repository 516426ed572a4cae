/* mempcpy: as memcpy, and the result is the end of what was written. */
#define _GNU_SOURCE
#include "check.h"

int main(void) {
    char small[4], *heap;
    const char *from = UNKNOWN("0123456789abcdef");

    HOLDS(mempcpy(small, from, UNKNOWN((size_t)4)) == small + 4 && memcmp(small, "0123", 4) == 0);
    HOLDS(mempcpy(small, from, UNKNOWN((size_t)0)) == small);

    OVERFLOWS("mempcpy: detected buffer overflow: 8 byte write of buffer size 4",
              LOOK_AT(mempcpy(small, from, 8)));
    OVERFLOWS("mempcpy: detected buffer overflow: 5 byte write of buffer size 4",
              LOOK_AT(mempcpy(small, from, UNKNOWN((size_t)5))));
    OVERFLOWS_AT_LEVEL_3("mempcpy: detected buffer overflow: 8 byte write of buffer size 7",
              heap = malloc(UNKNOWN((size_t)7)); LOOK_AT(mempcpy(heap, from, 8)));
    return failures;
}
