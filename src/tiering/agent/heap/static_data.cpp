// SPDX-License-Identifier: Apache-2.0
// Assigns each page of a module's data segment (.data, .bss) to one variable, or to the data between variables.
// The module registry (lifecycle/modules.cpp) makes objects of the result. See static_data.hpp.
#include "agent/heap/static_data.hpp"

#include <algorithm>

#include "core/rounding.hpp"

namespace terrace::agent {

namespace {

// Returns how many bytes of the page lie in the range.
std::uint64_t covered(const AddressRange& range, std::uint64_t page) {
  const auto from = std::max(range.low, page);
  const auto to = std::min(range.high, page + k_page);
  return to > from ? to - from : 0;
}

// Returns whether the variable owns the page. Only direct neighbours can share it: none is smaller than a page.
bool has_page(std::span<const AddressRange> variables, std::size_t i, std::uint64_t page) {
  const auto own = covered(variables[i], page);
  const auto before = i > 0 ? covered(variables[i - 1], page) : 0;
  const auto after = i + 1 < variables.size() ? covered(variables[i + 1], page) : 0;
  const auto rest = k_page - own - before - after;
  return own >= rest && own > before && own >= after;
}

}  // namespace

std::vector<StaticPiece> cut_segment(AddressRange segment, std::span<const AddressRange> variables) {
  std::vector<StaticPiece> pieces;
  auto at = page_down(segment.low);
  for (std::size_t i = 0; i < variables.size(); ++i) {
    auto first = page_down(variables[i].low);
    auto last = page_up(variables[i].high);
    if (first < variables[i].low && !has_page(variables, i, first)) first += k_page;
    if (last > variables[i].high && last > first && !has_page(variables, i, last - k_page)) last -= k_page;
    if (last <= first) continue;
    if (first > at) pieces.push_back({{at, first}, StaticPiece::k_rest});
    pieces.push_back({{first, last}, i});
    at = last;
  }
  if (const auto end = page_up(segment.high); end > at) pieces.push_back({{at, end}, StaticPiece::k_rest});
  return pieces;
}

}  // namespace terrace::agent
