/*
 * Linked statically before glibc: glibc's own checks, such as those of the printf family, end in
 * __chk_fail, and so in this library.
 */
#include <unlikely_fortify.h>

#include "check.h"

int main(void) {
    char small[4];
    HOLDS(snprintf(small, UNKNOWN(sizeof small), "%s", UNKNOWN("ab")) == 2);
    HOLDS(memcmp(small, "ab", 3) == 0);
    OVERFLOWS("detected buffer overflow: neither function nor size is known",
              snprintf(small, UNKNOWN((size_t)5), "%s", UNKNOWN("ab")); LOOK_AT(small));
    return failures;
}
