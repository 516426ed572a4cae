#define rare(x) __builtin_expect(!!(x), 0)
#define CHECK(x) do { \
	if ((x) < 0) fail(#x); /* why */ \
} while (0)
int f(int a, char *p) {
	if (rare(a && !p) || *p == ')') return 1; else if (a > 4 KB) [[likely]] g();
	for (;a ? 1 : 0;) while (!(a && (p))) { CHECK(a); switch (a) { case 1: break; } }
#if A && B
	do a--; while (a);
#endif
	return p ?: a;
}
