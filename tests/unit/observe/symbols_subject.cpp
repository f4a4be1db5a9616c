// The program that symbols_test resolves names in: allocators of several kinds, inlined and not, and static data.
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

double big_table[4096];
namespace field {
float velocity[3000];
}

template <class T>
struct Grid {
  explicit Grid(std::size_t n) : points(new T[n]) {}  // a container: its user's line counts
  ~Grid() { delete[] points; }
  T* points;
};

void* xmalloc(std::size_t size) {  // forwards another function's request
  void* const block = std::malloc(size);
  if (!block) std::abort();
  return block;
}

int xalloc_into(void** block, std::size_t size) {  // so does this, in another way
  *block = std::malloc(size);
  return *block ? 0 : 1;
}

std::size_t allocated = 0;
void count_allocations(std::size_t n) { allocated += n; }  // only sounds like it

__attribute__((noinline)) double* make(std::size_t n) {
  static double saved[1000];
  saved[n % 1000] += static_cast<double>(n);
  count_allocations(n);
  return static_cast<double*>(xmalloc(n * static_cast<std::size_t>(saved[n % 1000])));
}

__attribute__((noinline)) double use(std::size_t n) {
  std::vector<double> vector(n);
  const Grid<double> grid(n);
  vector.resize(2 * n);
  double* const made = make(n);
  void* block = nullptr;
  if (xalloc_into(&block, n) != 0) return 0;
  const auto unique = std::make_unique<double[]>(n);
  std::printf("%p %p %p %p\n", static_cast<void*>(vector.data()), static_cast<void*>(grid.points), block,
              static_cast<void*>(unique.get()));
  return vector[3] + grid.points[0] + made[1] + unique[2];
}

int main(int count, char**) {
  const auto n = static_cast<std::size_t>(count) * 100000;
  return use(n) > 3 ? static_cast<int>(big_table[count] + field::velocity[count]) : 0;
}
