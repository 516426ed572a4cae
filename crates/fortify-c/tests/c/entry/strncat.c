/* strncat: as much of the string as the bound lets through must fit, with the end. */
#include "check.h"

int main(void) {
    char small[8] = "abc", open[4], *heap;
    LOOK_AT(small);

    HOLDS(strncat(small, UNKNOWN("defghi"), UNKNOWN((size_t)4)) == small);
    HOLDS(memcmp(small, "abcdefg", 8) == 0);
    HOLDS(strncat(small, UNKNOWN("xyz"), UNKNOWN((size_t)0)) == small && small[7] == 0);
    HOLDS(strncat(small, UNKNOWN(""), UNKNOWN((size_t)100)) == small && small[7] == 0);

    OVERFLOWS("strncat: detected buffer overflow: 9 byte write of buffer size 8",
              strncat(small, UNKNOWN("hijk"), 1); LOOK_AT(small));
    OVERFLOWS("strncat: detected buffer overflow: 11 byte write of buffer size 8",
              strncat(small, UNKNOWN("hijk"), UNKNOWN((size_t)3)); LOOK_AT(small));
    OVERFLOWS("strncat: detected buffer overflow: 5 byte read of buffer size 4",
              memcpy(open, UNKNOWN("wxyz"), 4); LOOK_AT(open);
              strncat(open, UNKNOWN("a"), UNKNOWN((size_t)1)); LOOK_AT(open));
    OVERFLOWS_AT_LEVEL_3("strncat: detected buffer overflow: 8 byte write of buffer size 7",
              heap = malloc(UNKNOWN((size_t)7)); heap[0] = 0; LOOK_AT(heap);
              strncat(heap, UNKNOWN("abcdefghi"), UNKNOWN((size_t)7)); LOOK_AT(heap));
    return failures;
}
