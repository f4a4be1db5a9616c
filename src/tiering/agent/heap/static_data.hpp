// How a segment of static data falls into objects of whole pages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace terrace::agent {

struct AddressRange {
  std::uint64_t low = 0, high = 0;
};

// A piece of a segment in whole pages: a variable's (its index), or what is between variables.
struct StaticPiece {
  static constexpr std::size_t k_rest = ~std::size_t{0};
  AddressRange pages;
  std::size_t variable = k_rest;
};

// Variables are disjoint, ascending, of at least a page each, and are in the segment. A page that several share
// belongs to the one that covers the most of it; to the rest where that covers more than any of them.
std::vector<StaticPiece> cut_segment(AddressRange segment, std::span<const AddressRange> variables);

}  // namespace terrace::agent
