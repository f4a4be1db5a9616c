// A sum over an array, again and again: the least that a workload can be.
#include <cstdint>
#include <numeric>
#include <vector>

#include "common/markers.hpp"
#include "common/verdict.hpp"

int main() {
  std::vector<std::uint64_t> numbers(1 << 17, 1);
  std::uint64_t sum = 0;
  workloads::loop_begin("main");
  for (int i = 0; i < 3; ++i) {
    workloads::phase("sum");
    sum += std::accumulate(numbers.begin(), numbers.end(), std::uint64_t{0});
  }
  workloads::loop_end();
  return workloads::verdict(sum == 3 * numbers.size());
}
