// Allocates a field that is streamed and an index that is chased, each by what it needs of memory (terrace.hpp).
#include <cstdio>
#include <map>
#include <memory_resource>
#include <numeric>
#include <terrace/terrace.hpp>
#include <vector>

int main() {
  const terrace::allocator<double> for_bandwidth("bandwidth");
  std::vector<double, terrace::allocator<double>> field(1 << 20, for_bandwidth);
  std::iota(field.begin(), field.end(), 0.0);

  terrace::memory_resource for_latency("latency");
  std::pmr::map<long, long> index(&for_latency);
  for (long key = 0; key < 10000; ++key) index[key * 7919 % 10007] = key;

  const char* const place = terrace::where(field.data());
  std::printf("sum %.0f, %zu keys\n", std::accumulate(field.begin(), field.end(), 0.0), index.size());
  std::printf("the field is in %s\n", place ? place : "memory as the kernel gives it");
}
