/* explicit_bzero: the length is checked against the buffer. */
#define _DEFAULT_SOURCE
#include "check.h"

int main(void) {
    char small[4] = "xyz", *heap;

    explicit_bzero(small, UNKNOWN((size_t)2));
    HOLDS(memcmp(small, "\0\0z", 4) == 0);

    OVERFLOWS("explicit_bzero: detected buffer overflow: 8 byte write of buffer size 4",
              explicit_bzero(small, 8); LOOK_AT(small));
    OVERFLOWS("explicit_bzero: detected buffer overflow: 5 byte write of buffer size 4",
              explicit_bzero(small, UNKNOWN((size_t)5)); LOOK_AT(small));
    OVERFLOWS_AT_LEVEL_3("explicit_bzero: detected buffer overflow: 8 byte write of buffer size 7",
              heap = malloc(UNKNOWN((size_t)7)); explicit_bzero(heap, 8); LOOK_AT(heap));
    return failures;
}
