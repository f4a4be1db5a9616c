// Fuzzes the smaps parser: resident bytes never exceed a mapping's size, nor a range's overlap.
// tests/fuzz/CMakeLists.txt says how to run it.
#include <algorithm>
#include <string>
#include <string_view>

#include "observe/pages/smaps.hpp"

namespace {

using namespace terrace::observe;

void require(bool condition) {
  if (!condition) __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  constexpr WatchedRange k_ranges[] = {{0x1000, 0x5000}, {0x5000, 0x7f0000000000}, {0x7f0000001000, ~0ULL}};
  SmapsParser lines;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    const std::string line(text.substr(0, std::min<std::size_t>(end, 127)));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!lines.parse_line(line.c_str())) continue;
    const auto& mapping = lines.mapping();
    require(mapping.low < mapping.high && mapping.bytes <= mapping.high - mapping.low);
    std::uint64_t used[3] = {PageWatch::k_unknown, PageWatch::k_unknown, PageWatch::k_unknown}, sum = 0;
    std::size_t first = 0;
    add_referenced(mapping, k_ranges, used, first);
    for (std::size_t i = 0; i < 3; ++i) {
      const auto low = std::max(k_ranges[i].low, mapping.low), high = std::min(k_ranges[i].high, mapping.high);
      require((used[i] == PageWatch::k_unknown) == (low >= high));
      if (low < high) require(used[i] <= high - low);
      if (low < high) sum += used[i];
    }
    require(sum <= mapping.bytes);
  }
  return 0;
}
