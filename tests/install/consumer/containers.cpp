// A program in C++ that uses an installed Terrace's headers and links nothing of it.
#include <memory_resource>
#include <terrace/terrace.hpp>
#include <unordered_map>
#include <vector>

int main() {
  std::vector<int, terrace::allocator<int>> numbers(1000, 7, terrace::allocator<int>("bandwidth"));
  terrace::memory_resource near("latency");
  std::pmr::unordered_map<int, int> map(&near);
  for (const int number : numbers) ++map[number];
  return map[7] == 1000 && !terrace::active() ? 0 : 1;
}
