// SPDX-License-Identifier: Apache-2.0
// What loops and datasets may not be: it is refused when they are called, or made, in one line.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "stencil/data/storage.hpp"
#include "terrace/stencil/chain.hpp"

namespace terrace::stencil {

// Throws Error{invalid} for a dataset of more bytes than a processor has addresses.
void check_size(const DatasetInfo& info);

// Throws Error{invalid} where the range that `what` is called with ends before it begins, or is two points in
// braces.
void check_order(const std::string& what, const Range& range);

// `what` has a range of points of a block. Throws Error{invalid} as check_order does, where it says another number
// of dimensions, or where it has points in one that the block does not have.
void check_sides(const std::string& what, const Range& range, const BlockInfo& block);

// Throws Error{invalid}, which names the loop and what is wrong with it: its range is not of its block; it goes
// beyond a dataset, or beyond a line at its own point; it uses a dataset of another block; it reads what other
// points of it write.
void check_loop(const Loop& loop, const std::vector<BlockInfo>& blocks, const std::deque<DatasetInfo>& datasets);

}  // namespace terrace::stencil
