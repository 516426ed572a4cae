/* strlcat: the bound is checked against the destination; within it the result is cut. */
#include "check.h"

int main(void) {
    char small[8] = "abc", *heap;
    LOOK_AT(small);

    HOLDS(strlcat(small, UNKNOWN("de"), UNKNOWN((size_t)8)) == 5 && memcmp(small, "abcde", 6) == 0);
    HOLDS(strlcat(small, UNKNOWN("fghijk"), UNKNOWN((size_t)8)) == 11);
    HOLDS(memcmp(small, "abcdefg", 8) == 0);
    HOLDS(strlcat(small, UNKNOWN("xy"), UNKNOWN((size_t)3)) == 5 && memcmp(small, "abcdefg", 8) == 0);

    OVERFLOWS("strlcat: detected buffer overflow: 9 byte write of buffer size 8",
              LOOK_AT(strlcat(small, UNKNOWN("a"), 9)));
    OVERFLOWS("strlcat: detected buffer overflow: 16 byte write of buffer size 8",
              LOOK_AT(strlcat(small, UNKNOWN("a"), UNKNOWN((size_t)16))));
    OVERFLOWS_AT_LEVEL_3("strlcat: detected buffer overflow: 8 byte write of buffer size 7",
              heap = malloc(UNKNOWN((size_t)7)); heap[0] = 0; LOOK_AT(heap);
              LOOK_AT(strlcat(heap, UNKNOWN("a"), 8)));
    return failures;
}
