/* strcat: both strings and the end must fit; a destination without end would be read beyond. */
#include "check.h"

int main(void) {
    char small[8] = "abc", open[4], *heap;
    LOOK_AT(small);

    HOLDS(strcat(small, UNKNOWN("defg")) == small && memcmp(small, "abcdefg", 8) == 0);
    HOLDS(strcat(small, UNKNOWN("")) == small && memcmp(small, "abcdefg", 8) == 0);

    OVERFLOWS("strcat: detected buffer overflow: 9 byte write of buffer size 8",
              strcat(small, "h"); LOOK_AT(small));
    OVERFLOWS("strcat: detected buffer overflow: 12 byte write of buffer size 8",
              strcat(small, UNKNOWN("hijk")); LOOK_AT(small));
    OVERFLOWS("strcat: detected buffer overflow: 5 byte read of buffer size 4",
              memcpy(open, UNKNOWN("wxyz"), 4); LOOK_AT(open); strcat(open, UNKNOWN("")); LOOK_AT(open));
    OVERFLOWS_AT_LEVEL_3("strcat: detected buffer overflow: 8 byte write of buffer size 7",
              heap = malloc(UNKNOWN((size_t)7)); heap[0] = 0; LOOK_AT(heap);
              strcat(heap, UNKNOWN("abcdefg")); LOOK_AT(heap));
    return failures;
}
