// Measures STREAM's triad (J. McCalpin, 1995), with which speed.py compares: a = b + 3 c over arrays that no cache
// holds. Prints bytes a second, the best of several times, as STREAM counts them.
#include <omp.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

int main(int count, char** words) {
  const std::size_t size = count > 1 ? std::strtoull(words[1], nullptr, 10) : 80'000'000;
  double* arrays[3];
  for (auto*& array : arrays) {
    void* const mapped =
        mmap(nullptr, size * sizeof(double), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) return 1;
    madvise(mapped, size * sizeof(double), MADV_HUGEPAGE);
    array = static_cast<double*>(mapped);
  }
  auto* const a = arrays[0];
  auto* const b = arrays[1];
  auto* const c = arrays[2];
#pragma omp parallel for
  for (std::size_t i = 0; i < size; ++i) {
    a[i] = 0;
    b[i] = 1;
    c[i] = 2;
  }
  double least = 1e9;
  for (int time = 0; time < 10; ++time) {
    const double begun = omp_get_wtime();
#pragma omp parallel for
    for (std::size_t i = 0; i < size; ++i) a[i] = b[i] + 3 * c[i];
    least = std::min(least, omp_get_wtime() - begun);
  }
  std::printf("%.6g\n", 3.0 * sizeof(double) * static_cast<double>(size) / least);
  return a[size / 2] == 7 ? 0 : 1;
}
