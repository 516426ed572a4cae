/* strlcpy: the bound is checked against the destination; within it the string is cut. */
#include "check.h"

int main(void) {
    char small[4], *heap;

    HOLDS(strlcpy(small, UNKNOWN("ab"), UNKNOWN((size_t)4)) == 2 && memcmp(small, "ab", 3) == 0);
    HOLDS(strlcpy(small, UNKNOWN("abcdef"), UNKNOWN((size_t)4)) == 6 && memcmp(small, "abc", 4) == 0);
    HOLDS(strlcpy(small, UNKNOWN("xyz"), UNKNOWN((size_t)0)) == 3 && memcmp(small, "abc", 4) == 0);

    OVERFLOWS("strlcpy: detected buffer overflow: 8 byte write of buffer size 4",
              LOOK_AT(strlcpy(small, UNKNOWN("a"), 8)));
    OVERFLOWS("strlcpy: detected buffer overflow: 5 byte write of buffer size 4",
              LOOK_AT(strlcpy(small, UNKNOWN("abcdef"), UNKNOWN((size_t)5))));
    OVERFLOWS_AT_LEVEL_3("strlcpy: detected buffer overflow: 8 byte write of buffer size 7",
              heap = malloc(UNKNOWN((size_t)7)); LOOK_AT(strlcpy(heap, UNKNOWN("a"), 8)));
    return failures;
}
