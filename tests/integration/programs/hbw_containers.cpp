// Containers with hbw::allocator. Checks the first page of every block with hbwmalloc.h.
#include <hbw_allocator.h>

#include <cstdint>
#include <cstdio>
#include <list>
#include <map>
#include <string>
#include <vector>

struct alignas(128) Wide {
  double value = 0.5;
};

int main() {
  int wrong = 0;
  const bool has = hbw_check_available() == 0;
  const auto expect = [&](bool holds, const char* what) {
    if (!holds) std::printf("not so: %s\n", what), ++wrong;
  };
  const auto expect_fast = [&](const void* block) {
    expect(hbw_verify_memory_region(const_cast<void*>(block), 1, 0) == (has ? 0 : -1), "where a block is");
  };
  std::vector<double, hbw::allocator<double>> values;
  for (int i = 0; i < 1000000; ++i)
    values.push_back(i);  // NOLINT(performance-inefficient-vector-operation): it grows
  expect(values[999999] == 999999, "a vector");
  expect_fast(&values[500000]);
  std::map<int, std::string, std::less<int>, hbw::allocator<std::pair<const int, std::string>>> map;
  for (int i = 0; i < 1000; ++i) map[i] = std::to_string(i);
  expect(map.at(77) == "77", "a map");
  expect_fast(&*map.begin());
  std::list<Wide, hbw::allocator<Wide>> list(100);
  for (const auto& one : list)
    expect(reinterpret_cast<std::uintptr_t>(&one) % 128 == 0 && one.value == 0.5, "a list");
  hbw::allocator<int> numbers;
  const hbw::allocator<double> others(numbers);
  expect(numbers == others && !(numbers != others), "allocators are equal");
  for (const std::size_t count : {std::size_t{0}, numbers.max_size() + 1, numbers.max_size()}) {
    bool refused = false;
    try {
      numbers.deallocate(numbers.allocate(count), count);
    } catch (const std::bad_alloc&) {
      refused = true;
    }
    expect(refused, "none, or too many elements");
  }
  int* const one = numbers.allocate(1);
  numbers.construct(one, 7);
  expect(*one == 7 && numbers.address(*one) == one, "an element");
  numbers.destroy(one);
  numbers.deallocate(one, 1);
  std::puts(wrong == 0 ? "all right" : "wrong");
  return wrong != 0;
}
