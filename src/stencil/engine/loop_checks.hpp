// SPDX-License-Identifier: Apache-2.0
// Validates loops and datasets when the program declares them. Called by the engine; errors are one line.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "stencil/data/storage.hpp"
#include "terrace/stencil/chain.hpp"

namespace terrace::stencil {

// Throws Error{invalid} if the dataset exceeds the address space.
void check_size(const DatasetInfo& info);

// Throws Error{invalid} if the range of `what` ends before it begins, or was written as two points in braces.
void check_order(const std::string& what, const Range& range);

// Checks that the range of `what` suits the block. Throws Error{invalid} as check_order() does, if it states
// another number of dimensions, or if it has extent in a dimension that the block lacks.
void check_sides(const std::string& what, const Range& range, const BlockInfo& block);

// Throws Error{invalid}, which names the loop and the reason: its range is outside its block; it accesses
// points outside a dataset or a line; it uses a dataset of another block; it reads other points of a dataset
// that it writes.
void check_loop(const Loop& loop, const std::vector<BlockInfo>& blocks, const std::deque<DatasetInfo>& datasets);

}  // namespace terrace::stencil
