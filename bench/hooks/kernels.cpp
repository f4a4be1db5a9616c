// Implements the loops whose accesses hooks_bench measures; compiled with -fsanitize=thread for the hooks only.
#include "kernels.hpp"

namespace terrace::bench {

void triad(double* a, const double* b, const double* c, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) a[i] = b[i] + 3.0 * c[i];
}

double sum(const double* a, std::size_t n) {
  double s = 0;
  for (std::size_t i = 0; i < n; ++i) s += a[i];
  return s;
}

double gather(const double* x, const std::uint32_t* index, std::size_t n) {
  double s = 0;
  for (std::size_t i = 0; i < n; ++i) s += x[index[i]];
  return s;
}

void update(std::uint64_t* table, std::size_t mask, std::size_t n) {
  std::uint64_t a = 88172645463325252u;  // xorshift (Marsaglia 2003)
  for (std::size_t i = 0; i < n; ++i) {
    a ^= a << 13;
    a ^= a >> 7;
    a ^= a << 17;
    table[a & mask] ^= a;
  }
}

void* chase(void* first, std::size_t n) {
  void* p = first;
  for (std::size_t i = 0; i < n; ++i) p = *static_cast<void**>(p);
  return p;
}

[[gnu::noinline]] static std::uint64_t callee(std::uint64_t i) { return i * i + 1; }

std::uint64_t calls(std::size_t n) {
  std::uint64_t s = 0;
  for (std::size_t i = 0; i < n; ++i) s ^= callee(i);
  return s;
}

}  // namespace terrace::bench
