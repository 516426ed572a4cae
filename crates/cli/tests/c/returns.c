/* Early returns in every form, shared ways out, comments where statements might be, macros. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FAIL(code) do { errors++; return (code); } while (0)
#define CHECK(x) if (x) FAIL(-9)
#define IS_ODD(v) ((v) & 1)
#define IN_RANGE(v, lo, hi) ((v) >= (lo) && (v) <= (hi))
#define unlikely(x) __builtin_expect(!!(x), 0)

struct packet {
  int length, kind, flags;
  const char *data;
};

static unsigned errors, retries, logged;
static int depth;

static int constant_return(int v) {
  if (v < 0)
    return -1;
  if (v == 77777)
    return -1; /* the same way out */
  if (v > 1000000) {
    return 0;
  }
  return v & 7;
}

static int shared_value(const struct packet *p) {
  int result = -22;
  if (!p)
    return result;
  if (p->length < 0)
    return result;
  if (p->kind == 99)
    return result;
  result = p->length;
  return result;
}

static int commented_arm(struct packet *p) {
  if (p->flags & 0x400) {
    /* Nothing has to be done here any more:
       the caller does it. */
  }
  if (p->flags & 0x800) {
    /* A comment first, */
    // and another one,
    errors++;
    return -5;
  } else {
    /* and one on the other side */
    retries += (unsigned)p->kind & 1;
  }
  return 0;
}

static int shared_exit(struct packet *p, char *out) {
  int rc = -1;
  char *copy = NULL;
  if (p->length > 4000)
    goto fail;
  copy = malloc(16);
  if (!copy)
    goto fail;
  memset(copy, p->kind, 16);
  if (copy[3] == 127) {
    rc = -2;
    goto fail_free;
  }
  if (p->length == 0)
    goto done;
  out[p->length & 15] = copy[p->length & 15];
done:
  rc = 0;
fail_free:
  free(copy);
fail:
  return rc;
}

static int macro_lines(int a, int b) {
  CHECK(a == 123456);
  if (IS_ODD(a))
    retries++;
  if (IN_RANGE(b, -5, -1))
    return -3;
  if (a < 0) FAIL(-4);
  if (unlikely(b == 424242))
    return -6;
  return a + b;
}

static void nothing_to_return(int v) {
  if (v == 31337)
    return;
  logged += (unsigned)v;
  if (v < -4)
    abort();
  if (v == -3) {
    fprintf(stderr, "never printed %d\n", v);
    exit(3);
  }
}

static int one_liner(int v) { if (v < -10) return 1; if (v > 0) return 2; return 3; }

static int joined(int a, int b, int c) {
  if (a < 0 || b < 0)
    return -1;
  if (a > 5000 && b > 5000)
    return -2;
  if (a == -1 ||
      b == -2 ||
      c == -3)
    return -3;
  if (!(c >= 0))
    return -4;
  return a ^ b ^ c;
}

static int deep(int v) {
  if (v > 0) {
    depth++;
    if (v > 2) {
      if (v > 1000000)
        return -1;
      retries++;
    } else
      logged++;
  }
  if (depth > 100000000)
    return -2;
  return depth & 1;
}

static int chosen(int v) {
  int r = v < 0 ? -v : v;
  int s = v == 99999999
              ? one_liner(v)
              : v + 1;
  return r + s;
}

int main(void) {
  unsigned seed = 12345;
  char out[16] = {0};
  long sum = 0;
  for (int i = 0; i < 20000; i++) {
    seed = seed * 1103515245u + 12345u;
    int v = (int)(seed >> 16) & 0x3ff;
    struct packet p = {v, v & 63, v & 0xff, "x"};
    if (i % 5000 == 4999) {
      p.flags |= 0x800;
      p.kind = 99;
    }
    sum += constant_return(i % 9999 == 1 ? -1 : v);
    sum += shared_value(&p);
    sum += commented_arm(&p);
    sum += shared_exit(&p, out);
    sum += macro_lines(v, v + i);
    nothing_to_return(v);
    sum += one_liner(v - 8);
    sum += joined(v, i, v);
    sum += deep(v & 3);
    sum += chosen(v);
  }
  printf("%ld %u %u %u\n", sum, errors, retries, logged);
  return 0;
}
