/* Chains of else-if, arms that compilers turn into arithmetic, and jumps into arms. */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

static unsigned counts[8];
static jmp_buf back;

__attribute__((noinline)) static int chain(int c) {
  int kind;
  if (c == 'x')
    kind = 1;
  else if (c == 'y')
    kind = 2;
  else if (c == 200)
    kind = 3;
  else if (c == 201) {
    /* rare */
    kind = 4;
  } else
    kind = 5;
  return kind;
}

__attribute__((noinline)) static int chain_with_work(int v, int w) {
  if (v < 0) {
    counts[0]++;
    return -1;
  } else if (v + w > 1000000) {
    counts[1]++;
    return -2;
  } else if ((v ^ w) == 0x7fffffff) {
    counts[2] += (unsigned)w;
  } else if (w & 1) {
    counts[3] += (unsigned)v;
  } else {
    counts[4]++;
    counts[5] += (unsigned)w;
  }
  return v;
}

__attribute__((noinline)) static int ranges(int v) {
  if (v < 10)
    return 1;
  else if (v < 100)
    return 2;
  else if (v < 100000)
    return 3;
  else
    return 4;
}

__attribute__((noinline)) static int arithmetic(int v) {
  if (v < 0)
    v = -v;
  int m = 7;
  if (v > m)
    m = v;
  int z = 0;
  if (v == 123456789)
    z = 1;
  int q;
  if (v > 5)
    q = 1;
  else
    q = 0;
  return v + m + z + q;
}

__attribute__((noinline)) static int into_an_arm(int v) {
  if (v == 9999999)
    goto inside;
  if (v < -100000) {
    counts[6]++;
  inside:
    counts[7]++;
    return -1;
  }
  return v;
}

__attribute__((noinline)) static int jumps_in(int v) {
  int rc = 0;
  if (v < 4000) {
    rc = 0;
  again:
    rc++;
    counts[0] += (unsigned)rc;
  } else
    goto again;
  return rc;
}

/* Copies in rounds of four, entered in the middle. */
__attribute__((noinline)) static int duff(const char *from, char *to, int n) {
  int rounds = (n + 3) / 4;
  switch (n & 3) {
    if (n > 100000) {
    case 0:
      do {
        *to++ = *from++;
      case 3:
        *to++ = *from++;
      case 2:
        *to++ = *from++;
      case 1:
        *to++ = *from++;
      } while (--rounds > 0);
    }
  }
  return n;
}

__attribute__((noinline)) static void thrower(int v) {
  if (v == 777)
    longjmp(back, 1);
  counts[1]++;
}

__attribute__((noinline)) static int catcher(int v) {
  if (setjmp(back) != 0) {
    counts[2]++;
    return 1;
  }
  thrower(v);
  return 0;
}

__attribute__((noinline)) static int last_statement(int v, int *out) {
  for (int i = 0; i < 4; i++) {
    *out += i;
    if (*out == v + 100000007)
      *out = 0;
  }
  if (v == 100000009) {
    *out = 1;
  }
  return *out & 1;
}

__attribute__((noinline)) static int same_arms(int v) {
  int r;
  if (v == 5555555) {
    r = v * 3;
  } else {
    r = v * 3;
  }
  if (v == 6666666)
    return r + 1;
  else
    return r + 1;
}

__attribute__((noinline)) static int dead_store(int v, const int *p) {
  int r = 0;
  if (!p)
    r = 1;
  if (*p == 42424242)
    r = 2;
  if (v == 31) {
    r = 5;
  }
  r += *p;
  return r;
}

__attribute__((noinline)) static int tail(int n, int acc) {
  if (n <= 0)
    return acc;
  if (acc == -1)
    return 0;
  return tail(n - 1, acc + n);
}

__attribute__((noinline)) static int negated(int v, void *p) {
  if (!p)
    return -1;
  if (!(v < 100000))
    return -2;
  if (!v)
    counts[3]++;
  if (v != 17) counts[4]++; else counts[5]++;
  if (v == -1) { counts[6]++; }
  return 0;
}

int main(void) {
  char from[64] = "copied", to[64];
  long sum = 0;
  int out = 0, cell = 3;
  for (int i = 0; i < 8000; i++) {
    sum += chain(i % 1000 == 3 ? 'y' : 'x') + chain_with_work(i & 1023, i);
    sum += ranges(i % 100 + 100) + arithmetic(i - 3);
    sum += into_an_arm(i) + jumps_in(i) + duff(from, to, i % 40 + 1);
    sum += catcher(i) + last_statement(i, &out) + same_arms(i);
    sum += dead_store(i & 1023, &cell) + tail(i & 7, 0) + negated(i, &cell);
  }
  for (int i = 0; i < 8; i++)
    sum += counts[i];
  printf("%ld %d %d\n", sum, out, to[1]);
  return 0;
}
