// See smaps.hpp.
#include "observe/pages/smaps.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "core/maps_reader.hpp"

namespace terrace::observe {

namespace {

constexpr char k_figure[] = "Referenced:";

// Decimal, at most the largest number.
std::uint64_t read_decimal(const char* text) {
  constexpr auto k_most = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t value = 0;
  for (; *text >= '0' && *text <= '9'; ++text) {
    const auto digit = static_cast<std::uint64_t>(*text - '0');
    value = value > (k_most - digit) / 10 ? k_most : value * 10 + digit;
  }
  return value;
}

}  // namespace

bool SmapsLines::take(const char* line) noexcept {
  // Figures have names with capitals, heads begin with an address in small letters.
  if (std::strncmp(line, k_figure, sizeof k_figure - 1) == 0) {
    if (!headed_) return false;
    headed_ = false;
    const char* at = line + sizeof k_figure - 1;
    while (*at == ' ' || *at == '\t') ++at;
    const auto kibibytes = read_decimal(at);
    const auto size = mapping_.high - mapping_.low;
    mapping_.bytes = kibibytes > size / 1024 ? size : kibibytes * 1024;
    return true;
  }
  const char* at = line;
  const auto low = read_hexadecimal(at);
  if (at == line || *at != '-') return false;
  const char* const second = ++at;
  const auto high = read_hexadecimal(at);
  if (at == second || *at != ' ') return false;
  headed_ = low < high;
  mapping_ = {low, high, 0};
  return false;
}

void add_referenced(const ReferencedMapping& mapping, std::span<const WatchedRange> ranges,
                    std::span<std::uint64_t> used, std::size_t& first) noexcept {
  while (first < ranges.size() && ranges[first].high <= mapping.low) ++first;
  const auto size = mapping.high - mapping.low;
  for (auto i = first; i < ranges.size() && ranges[i].low < mapping.high; ++i) {
    const auto low = std::max(ranges[i].low, mapping.low);
    const auto high = std::min(ranges[i].high, mapping.high);
    if (low >= high) continue;
    if (used[i] == PageWatch::k_unknown) used[i] = 0;
    __extension__ using Wide = unsigned __int128;
    used[i] += static_cast<std::uint64_t>(static_cast<Wide>(mapping.bytes) * (high - low) / size);
  }
}

bool read_referenced(const char* path, std::span<const WatchedRange> ranges,
                     std::span<std::uint64_t> used) noexcept {
  std::ranges::fill(used, PageWatch::k_unknown);
  MapsReader reader(path);
  SmapsLines lines;
  std::size_t first = 0;
  bool any = false;
  char line[128];
  while (reader.line(line, sizeof line)) {
    if (!lines.take(line)) continue;
    any = true;
    add_referenced(lines.mapping(), ranges, used, first);
  }
  return any;
}

}  // namespace terrace::observe
