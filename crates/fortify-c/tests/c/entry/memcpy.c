/* memcpy: the length is checked against the destination. */
#include "check.h"

struct fields { char name[4]; char rest[12]; };

int main(void) {
    char small[4], large[16], *heap;
    struct fields fields;
    const char *from = UNKNOWN("0123456789abcdef");

    HOLDS(memcpy(small, from, UNKNOWN((size_t)4)) == small && memcmp(small, "0123", 4) == 0);
    HOLDS(memcpy(large, from, UNKNOWN((size_t)0)) == large);

    OVERFLOWS("memcpy: detected buffer overflow: 8 byte write of buffer size 4",
              memcpy(small, from, 8); LOOK_AT(small));
    OVERFLOWS("memcpy: detected buffer overflow: 5 byte write of buffer size 4",
              memcpy(small, from, UNKNOWN((size_t)5)); LOOK_AT(small));
    OVERFLOWS("memcpy: detected buffer overflow: 1 byte write of buffer size 0",
              memcpy(large + 16, from, UNKNOWN((size_t)1)); LOOK_AT(large));
    OVERFLOWS("memcpy: detected buffer overflow: 18446744073709551615 byte write of buffer size 16",
              memcpy(large, from, UNKNOWN((size_t)-1)); LOOK_AT(large));
    OVERFLOWS("memcpy: detected buffer overflow: 13 byte write of buffer size 12",
              memcpy(fields.rest, from, UNKNOWN((size_t)13)); LOOK_AT(&fields));
    OVERFLOWS_AT_LEVEL_3("memcpy: detected buffer overflow: 8 byte write of buffer size 7",
              heap = malloc(UNKNOWN((size_t)7)); memcpy(heap, from, 8); LOOK_AT(heap));
    OVERFLOWS_AT_LEVEL_3("memcpy: detected buffer overflow: 8 byte write of buffer size 6",
              heap = malloc(UNKNOWN((size_t)7)); memcpy(heap + 1, from, UNKNOWN((size_t)8)); LOOK_AT(heap));
    return failures;
}
