/* stpncpy: as strncpy, and the result is the end of the string, or of the bound. */
#define _GNU_SOURCE
#include "check.h"

int main(void) {
    char small[4], *heap;

    HOLDS(stpncpy(small, UNKNOWN("a"), UNKNOWN((size_t)4)) == small + 1);
    HOLDS(memcmp(small, "a\0\0\0", 4) == 0);
    HOLDS(stpncpy(small, UNKNOWN("abcdef"), UNKNOWN((size_t)4)) == small + 4);

    OVERFLOWS("stpncpy: detected buffer overflow: 8 byte write of buffer size 4",
              LOOK_AT(stpncpy(small, UNKNOWN("abcdefgh"), 8)));
    OVERFLOWS("stpncpy: detected buffer overflow: 5 byte write of buffer size 4",
              LOOK_AT(stpncpy(small, UNKNOWN("a"), UNKNOWN((size_t)5))));
    OVERFLOWS_AT_LEVEL_3("stpncpy: detected buffer overflow: 8 byte write of buffer size 7",
              heap = malloc(UNKNOWN((size_t)7)); LOOK_AT(stpncpy(heap, UNKNOWN("a"), 8)));
    return failures;
}
