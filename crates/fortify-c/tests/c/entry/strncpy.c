/* strncpy: the bound is checked against the destination, however short the string. */
#include "check.h"

int main(void) {
    char small[4], *heap;

    HOLDS(strncpy(small, UNKNOWN("a"), UNKNOWN((size_t)4)) == small);
    HOLDS(memcmp(small, "a\0\0\0", 4) == 0);
    HOLDS(strncpy(small, UNKNOWN("abcdef"), UNKNOWN((size_t)4)) == small);
    HOLDS(memcmp(small, "abcd", 4) == 0);

    OVERFLOWS("strncpy: detected buffer overflow: 8 byte write of buffer size 4",
              strncpy(small, UNKNOWN("abcdefgh"), 8); LOOK_AT(small));
    OVERFLOWS("strncpy: detected buffer overflow: 5 byte write of buffer size 4",
              strncpy(small, UNKNOWN("a"), UNKNOWN((size_t)5)); LOOK_AT(small));
    OVERFLOWS_AT_LEVEL_3("strncpy: detected buffer overflow: 8 byte write of buffer size 7",
              heap = malloc(UNKNOWN((size_t)7)); strncpy(heap, UNKNOWN("a"), 8); LOOK_AT(heap));
    return failures;
}
