/* strcpy: the string with its end must fit into the destination. */
#include "check.h"

int main(void) {
    char small[4], *heap;

    HOLDS(strcpy(small, UNKNOWN("abc")) == small && memcmp(small, "abc", 4) == 0);
    HOLDS(strcpy(small, UNKNOWN("")) == small && small[0] == 0);

    /* Compilers copy a string whose length they know by memcpy. */
    OVERFLOWS("memcpy: detected buffer overflow: 8 byte write of buffer size 4",
              strcpy(small, "abcdefg"); LOOK_AT(small));
    OVERFLOWS("strcpy: detected buffer overflow: 8 byte write of buffer size 4",
              strcpy(small, UNKNOWN("abcdefg")); LOOK_AT(small));
    OVERFLOWS("strcpy: detected buffer overflow: 5 byte write of buffer size 4",
              strcpy(small, UNKNOWN("abcd")); LOOK_AT(small));
    OVERFLOWS("strcpy: detected buffer overflow: 1 byte write of buffer size 0",
              strcpy(small + 4, UNKNOWN("")); LOOK_AT(small));
    OVERFLOWS_AT_LEVEL_3("strcpy: detected buffer overflow: 8 byte write of buffer size 7",
              heap = malloc(UNKNOWN((size_t)7)); strcpy(heap, UNKNOWN("abcdefg")); LOOK_AT(heap));
    return failures;
}
