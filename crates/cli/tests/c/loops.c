/* Loops left and gone round early, inlined functions, flags that a compiler follows around. */
#include <stdio.h>
#include <string.h>

enum { N = 64 };
static int table[N];
static unsigned hits, misses, slow;

static inline int small(int v) {
  if (v < 0)
    return 0;
  return v;
}

static inline int mode_of(int mode, int v) {
  if (mode == 1)
    return v + 1;
  if (mode == 2)
    return v - 1;
  return v;
}

static int clamp(int v) {
  if (v > 255)
    v = 255;
  if (v < 0)
    v = 0;
  return v;
}

/* A call whose first argument is the constant is answered when it is compiled. */
static int graded(int v, int w) {
  if (v == 7)
    return w;
  if (v > 100000)
    return -1;
  for (int i = 0; i < 3; i++) {
    table[(v + i) & 63] ^= w;
    table[(v + i) & 63] ^= w;
    misses += (unsigned)table[v & 63];
  }
  if (w < 0)
    return table[v & 63] + table[w & 63];
  hits += (unsigned)v;
  return v ^ w;
}

__attribute__((noinline)) static int find(const int *t, int n, int key) {
  for (int i = 0; i < n; i++) {
    if (t[i] == -12345)
      continue;
    if (t[i] == key)
      break;
    if (t[i] < -1)
      return -1;
    hits++;
  }
  int i = 0;
  while (i < n) {
    if (t[i] == key) {
      misses++;
      return i;
    }
    i++;
  }
  return n;
}

__attribute__((noinline)) static int flags(int v) {
  int done = 0;
  int state = 0;
  if (v == 5)
    done = 1;
  if (done)
    state = 7;
  if (v > 100000)
    state = 9;
  if (state == 9)
    slow++;
  for (int i = 0; i < 4 && !done; i++) {
    if (v + i == 50)
      done = 1;
  }
  if (done)
    return 1;
  return state;
}

/* The remaining branch is the other way from the whole: v is mostly 3, which the first test knows. */
__attribute__((noinline)) static int followed(int v) {
  int ready = 0;
  if (v == 3)
    ready = 1;
  else if (v == 4)
    ready = table[0] == 999;
  if (ready)
    hits++;
  misses++;
  return ready;
}

/* The same, with the first test's outcome skipping the second one's code. */
__attribute__((noinline)) static int skipped(int v, int *out) {
  int bad = 0;
  if (v != 4)
    bad = 0;
  else
    bad = table[1] != 12345678;
  if (bad)
    *out += 3;
  *out += 1;
  return v;
}

__attribute__((noinline)) static int state_machine(const char *s) {
  int state = 0, words = 0;
  for (; *s; s++) {
    switch (state) {
    case 0:
      if (*s != ' ') {
        words++;
        state = 1;
      }
      break;
    case 1:
      if (*s == ' ')
        state = 0;
      else if (*s == '\\')
        state = 2;
      break;
    default:
      state = 1;
    }
  }
  return words;
}

__attribute__((noinline)) static int rounds(int n) {
  int s = 0, r = 0;
  do {
    if (s > 1000000)
      break;
    s += n;
    if (n & 1) continue;
    r++;
  } while (++r < 8);
  while (s > 0) {
    s -= 100;
    if (s == 7777777) {
      s = 0;
      continue;
    }
    if (s < -5000)
      goto out;
  }
  for (;;) {
    if (++r > 20)
      break;
    if (r == -1)
      return 0;
  }
out:
  return r;
}

__attribute__((noinline)) static int nested(int n) {
  int s = 0;
  for (int i = 0; i < n; i++)
    for (int j = 0; j < i; j++)
      if ((i ^ j) == 1000)
        s++;
      else
        s += 2;
  return s;
}

__attribute__((noinline)) static int loop_first(int v) {
  if (v < -3)
    while (v < 0)
      v++;
  if (v > 100000) {
    for (int i = 0; i < 3; i++)
      v -= i;
  } else {
    switch (v & 3) {
    case 0:
      v++;
      break;
    case 1:
    case 2:
      v += 2;
      break;
    default:
      if (v == 1234567)
        return -1;
    }
  }
  return v;
}

int main(void) {
  long sum = 0;
  int out = 0;
  for (int i = 0; i < N; i++)
    table[i] = i;
  for (int i = 0; i < 4000; i++) {
    sum += small(i - 2) + small(i) + small(3);
    sum += mode_of(1, i) + mode_of(2, i) + mode_of(i & 255, i);
    sum += clamp(i & 127);
    sum += graded(i & 255, i);
    for (int j = 0; j < 3; j++)
      sum += graded(7, j);
    sum += find(table, N, i & 31);
    sum += flags(i & 63);
    sum += followed(i % 3 == 0 ? 4 : 3);
    sum += skipped(i % 3 == 0 ? 4 : 3, &out);
    sum += state_machine("some words and  \\ more");
    sum += rounds(i & 15);
    sum += nested(12);
    sum += loop_first(i & 511);
  }
  printf("%ld %u %u %u %d\n", sum, hits, misses, slow, out);
  return 0;
}
