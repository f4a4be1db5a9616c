// Three pairs of functions that call each other in tail position, two million deep; constant stack at -O2.
// Prints one number of each pair.
#include <stdio.h>
#include <stdlib.h>

static long* counts;

__attribute__((noinline)) static long up(long n, long sum);
__attribute__((noinline)) static long down(long n, long sum) {
  counts[n & 127]++;
  return n == 0 ? sum : up(n - 1, sum + n % 3);
}
__attribute__((noinline)) static long up(long n, long sum) {
  counts[n & 255]++;
  return n == 0 ? -sum : down(n - 1, sum - n % 5);
}

__attribute__((noinline)) static double halve(long n, double x);
__attribute__((noinline)) static double add(long n, double x) {
  counts[n & 63]++;
  return n == 0 ? x : halve(n - 1, x + 1);
}
__attribute__((noinline)) static double halve(long n, double x) {
  counts[n & 31]++;
  return n == 0 ? -x : add(n - 1, x / 2);
}

// A threaded interpreter: each operation goes on to the next by a pointer.
typedef void (*Operation)(const unsigned char* code, long left);
static Operation operations[3];
static void next(const unsigned char* code, long left) {
  if (left > 0) operations[code[left % 7]](code, left - 1);
}
static void load(const unsigned char* code, long left) {
  counts[1]++;
  next(code, left);
}
static void store(const unsigned char* code, long left) {
  counts[2] += 2;
  next(code, left);
}
static void jump(const unsigned char* code, long left) {
  counts[3] += counts[1] & 1;
  next(code, left);
}

int main(void) {
  static const unsigned char code[7] = {0, 1, 2, 1, 0, 0, 2};
  counts = calloc(256, sizeof *counts);
  operations[0] = load, operations[1] = store, operations[2] = jump;
  printf("%ld %.6f", down(2000000, 0), add(2000000, 3));
  counts[1] = counts[2] = counts[3] = 0;
  next(code, 2000000);
  printf(" %ld\n", counts[1] + counts[2] + counts[3]);
  return 0;
}
