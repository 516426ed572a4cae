/* memset: the length is checked against the buffer. */
#include "check.h"

int main(void) {
    char small[4], *heap;

    HOLDS(memset(small, UNKNOWN('x'), UNKNOWN((size_t)4)) == small && memcmp(small, "xxxx", 4) == 0);

    OVERFLOWS("memset: detected buffer overflow: 8 byte write of buffer size 4",
              memset(small, 0, 8); LOOK_AT(small));
    OVERFLOWS("memset: detected buffer overflow: 5 byte write of buffer size 4",
              memset(small, 'x', UNKNOWN((size_t)5)); LOOK_AT(small));
    OVERFLOWS_AT_LEVEL_3("memset: detected buffer overflow: 8 byte write of buffer size 7",
              heap = malloc(UNKNOWN((size_t)7)); memset(heap, 'x', 8); LOOK_AT(heap));
    return failures;
}
