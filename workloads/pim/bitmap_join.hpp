// Bitmap star join: finds the rows of a fact table that join with chosen rows of all its dimensions.
//
// Each dimension has a key of its own, which the fact table holds in a column. The host evaluates the predicate
// on the dimension and passes the keys that satisfy it. For each dimension the array computes a bitmap over the
// facts (a semijoin: their foreign key is one of those) and ANDs the bitmaps; the host reads the rows. As a key
// identifies one row of its dimension, these rows with their foreign keys are the join.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "workloads/pim/program.hpp"

namespace terrace::pim {

struct Dimension {
  Vector foreign_keys;              // a column of the fact table
  std::vector<std::uint64_t> keys;  // keys that satisfy the predicate, in any order
};

struct Joined {
  std::vector<std::uint64_t> rows;  // rows of the fact table, ascending
  Report report;
};

// Copies columns that are not row-aligned with the first. Neighbouring keys are compared as a range. Throws
// Error{invalid} for no dimensions, for columns of different lengths and, horizontally, of different widths.
Joined bitmap_join(Array& array, std::span<const Dimension> dimensions, const Blocks& blocks);

}  // namespace terrace::pim
