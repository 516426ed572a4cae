/* What glibc has only from 2.38, so that programs can be linked for it here. It refuses every call. */
#include <stdlib.h>

size_t __strlcpy_chk(char *dest, const char *src, size_t n, size_t size) {
    (void)dest, (void)src, (void)n, (void)size;
    abort();
}

size_t __strlcat_chk(char *dest, const char *src, size_t n, size_t size) {
    return __strlcpy_chk(dest, src, n, size);
}
