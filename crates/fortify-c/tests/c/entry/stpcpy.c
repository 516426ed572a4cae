/* stpcpy: as strcpy, and the result is the end of the copy. */
#define _GNU_SOURCE
#include "check.h"

int main(void) {
    char small[4], *heap;

    HOLDS(stpcpy(small, UNKNOWN("abc")) == small + 3 && memcmp(small, "abc", 4) == 0);
    HOLDS(stpcpy(small, UNKNOWN("")) == small && small[0] == 0);

    /* Clang copies a string whose length it knows by memcpy. */
#ifdef __clang__
    OVERFLOWS("memcpy: detected buffer overflow: 8 byte write of buffer size 4",
#else
    OVERFLOWS("stpcpy: detected buffer overflow: 8 byte write of buffer size 4",
#endif
              LOOK_AT(stpcpy(small, "abcdefg")));
    OVERFLOWS("stpcpy: detected buffer overflow: 5 byte write of buffer size 4",
              LOOK_AT(stpcpy(small, UNKNOWN("abcd"))));
    OVERFLOWS_AT_LEVEL_3("stpcpy: detected buffer overflow: 8 byte write of buffer size 7",
              heap = malloc(UNKNOWN((size_t)7)); LOOK_AT(stpcpy(heap, UNKNOWN("abcdefg"))));
    return failures;
}
