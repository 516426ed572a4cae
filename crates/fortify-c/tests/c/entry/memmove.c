/* memmove: the length is checked against what is left of the destination, overlap or not. */
#include "check.h"

int main(void) {
    char buffer[8], *heap;
    memcpy(buffer, "01234567", UNKNOWN((size_t)8));
    LOOK_AT(buffer);

    HOLDS(memmove(buffer + 2, buffer, UNKNOWN((size_t)6)) == buffer + 2);
    HOLDS(memcmp(buffer, "01012345", 8) == 0);

    OVERFLOWS("memmove: detected buffer overflow: 7 byte write of buffer size 6",
              memmove(buffer + 2, buffer, 7); LOOK_AT(buffer));
    OVERFLOWS("memmove: detected buffer overflow: 9 byte write of buffer size 8",
              memmove(buffer, buffer + 1, UNKNOWN((size_t)9)); LOOK_AT(buffer));
    OVERFLOWS_AT_LEVEL_3("memmove: detected buffer overflow: 5 byte write of buffer size 4",
              heap = malloc(UNKNOWN((size_t)5)); memmove(heap + 1, heap, 5); LOOK_AT(heap));
    return failures;
}
