// Does one of several things that a tool inside a program may break, for a while; see
// tests/python/test_page_watching.py.
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <stdexcept>
#include <thread>
static double* a;
static const size_t n = 16 << 20;
static volatile double total;
static ucontext_t outer, inner;
static double seconds() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + 1e-9 * t.tv_nsec;
}
__attribute__((noinline)) void sweep(int i) {
  double s = 0;
  for (size_t k = 0; k < n; ++k) s += a[k] * i;
  total = s;
  if (i % 20 == 19) throw std::runtime_error("a sweep");
}
__attribute__((noinline)) void scale(int i) {
  for (size_t k = 0; k < n; k += 2) a[k] = a[k] * 0.5 + i;
}
__attribute__((noinline)) void step(int i) {
  double s = 0;
  for (size_t k = 0; k < n; ++k) s += a[k] * i;
  total = s;
  swapcontext(&inner, &outer);
  for (size_t k = 0; k < n; ++k) s -= a[k];
  total = s;
}
void body() {
  for (int i = 0;; ++i) step(i);
}
static void leave(int) { _exit(7); }
int main(int, char** words) {
  const char* const what = words[1];
  const double ends = seconds() + 3;
  a = static_cast<double*>(malloc(n * sizeof *a));
  memset(a, 1, n * sizeof *a);
  int thrown = 0, turns = 0;
  if (!strcmp(what, "throws"))
    for (; turns < 20 || seconds() < ends; ++turns) {
      try {
        sweep(turns);
      } catch (const std::exception&) {
        ++thrown;
      }
      scale(turns);
    }
  if (!strcmp(what, "switches")) {
    getcontext(&inner);
    inner.uc_stack.ss_sp = malloc(1 << 20);
    inner.uc_stack.ss_size = 1 << 20;
    inner.uc_link = nullptr;
    makecontext(&inner, body, 0);
    for (; turns < 20 || seconds() < ends; ++turns) {
      swapcontext(&outer, &inner);
      scale(turns);
    }
  }
  if (!strcmp(what, "remaps")) {
    const size_t size = 8 << 20;
    char* const first = static_cast<char*>(mmap(nullptr, 2 * size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    for (size_t k = 0; k < 2; ++k)
      mmap(first + k * size, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    memset(first, 2, 2 * size);
    for (; seconds() < ends; ++turns) scale(turns);
    void* const there = mremap(first, 2 * size, 4 * size, MREMAP_MAYMOVE);
    if (there == MAP_FAILED || static_cast<char*>(there)[size] != 2) {
      perror("mremap");
      return 1;
    }
    turns = 20;
  }
  if (!strcmp(what, "leaves")) {
    signal(SIGTERM, leave);
    for (;;) {
      char* p[8];
      for (int i = 0; i < 8; ++i) {
        p[i] = static_cast<char*>(malloc((5 + i) << 20));
        p[i][0] = 1;
      }
      for (char* one : p) free(one);
    }
  }
  printf("%s %d\n", what, turns >= 20);
  (void)thrown;
  return 0;
}
