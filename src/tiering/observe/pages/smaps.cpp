// SPDX-License-Identifier: Apache-2.0
// Parses /proc/self/smaps for the page watch `clear-refs`. See smaps.hpp.
#include "observe/pages/smaps.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "core/maps_reader.hpp"

namespace terrace::observe {

namespace {

constexpr const char* k_figure = "Referenced:";
constexpr const char* k_huge_figure = "AnonHugePages:";

const char* behind(const char* line, const char* name) {
  const auto length = std::strlen(name);
  return std::strncmp(line, name, length) == 0 ? line + length : nullptr;
}

// Parses a decimal number; saturates.
std::uint64_t read_decimal(const char* text) {
  constexpr auto k_max = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t value = 0;
  for (; *text >= '0' && *text <= '9'; ++text) {
    const auto digit = static_cast<std::uint64_t>(*text - '0');
    value = value > (k_max - digit) / 10 ? k_max : value * 10 + digit;
  }
  return value;
}

}  // namespace

// Returns the bytes of a figure in KiB, at most the size of the mapping.
std::uint64_t SmapsParser::bytes_in(const char* figure) const noexcept {
  while (*figure == ' ' || *figure == '\t') ++figure;
  const auto kibibytes = read_decimal(figure);
  const auto size = mapping_.high - mapping_.low;
  return kibibytes > size / 1024 ? size : kibibytes * 1024;
}

bool SmapsParser::parse_line(const char* line) noexcept {
  // Names of figures begin with capitals, heads with an address in lower case.
  if (const char* const figure = behind(line, k_figure)) {
    if (!headed_) return false;
    headed_ = false;
    mapping_.bytes = bytes_in(figure);
    return true;
  }
  if (const char* const figure = behind(line, k_huge_figure)) {
    huge_ += bytes_in(figure);
    return false;
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

SmapsSummary read_referenced(const char* path, std::span<const WatchedRange> ranges,
                             std::span<std::uint64_t> used) noexcept {
  std::ranges::fill(used, PageWatch::k_unknown);
  MapsReader reader(path);
  SmapsParser lines;
  std::size_t first = 0;
  bool any = false;
  char line[128];
  while (reader.read_line(line, sizeof line)) {
    if (!lines.parse_line(line)) continue;
    any = true;
    if (!ranges.empty() && lines.mapping().low >= ranges.back().high) break;
    add_referenced(lines.mapping(), ranges, used, first);
  }
  return {any, lines.huge()};
}

}  // namespace terrace::observe
