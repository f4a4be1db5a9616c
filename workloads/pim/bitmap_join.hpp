// A star join through bitmaps: which rows of a fact table join with chosen rows of every one of its dimensions.
//
// Each dimension has a key of its own; the fact table names it in a column. The predicate on the dimension is
// evaluated there and arrives as the keys that satisfy it. For each dimension the array makes a bitmap over the
// facts (their foreign key is one of those: a semijoin), ANDs the bitmaps, and the host reads off the rows. As a
// key names one row of its dimension, the rows of the fact table with their foreign keys are the join.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "workloads/pim/program.hpp"

namespace terrace::pim {

struct Dimension {
  Vector foreign_keys;              // a column of the fact table
  std::vector<std::uint64_t> keys;  // that the predicate chose, in any order
};

struct Joined {
  std::vector<std::uint64_t> rows;  // of the fact table, ascending
  Report report;
};

// Columns that are not beside the first are brought there. Neighbouring keys are compared as a range. Throws
// Error{invalid} for no dimensions, for columns of different lengths and, horizontally, of different widths.
Joined bitmap_join(Array& array, std::span<const Dimension> dimensions, const Blocks& blocks);

}  // namespace terrace::pim
