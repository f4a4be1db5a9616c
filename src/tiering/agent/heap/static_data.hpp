// SPDX-License-Identifier: Apache-2.0
// Divides a segment of static data (.data, .bss of a loaded file) into pieces of whole pages, one for each large
// variable. The module registry (lifecycle/modules.cpp) registers each piece as an object.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace terrace::agent {

struct AddressRange {
  std::uint64_t low = 0, high = 0;
};

// A run of whole pages of a segment: those of a variable (by index), or of the data between variables.
struct StaticPiece {
  static constexpr std::size_t k_rest = ~std::size_t{0};
  AddressRange pages;
  std::size_t variable = k_rest;
};

// Divides the segment. Requires: variables are disjoint, ascending, within the segment, and at least a page each.
// A shared page belongs to the variable that covers most of it, or to the rest if that covers more.
std::vector<StaticPiece> cut_segment(AddressRange segment, std::span<const AddressRange> variables);

}  // namespace terrace::agent
