// Numbers that go from a dataset to another one, as a value: from where, to where, and how the axes lie.
#pragma once

#include <cstddef>
#include <vector>

#include "stencil/data/storage.hpp"
#include "stencil/execute/executor.hpp"
#include "terrace/stencil/context.hpp"

namespace terrace::stencil {

struct BlockTransfer {
  DatasetId from = 0;
  Range from_range;
  DatasetId to = 0;
  Range to_range;
  Orientation orientation;
};

// Throws Error{invalid}, which names the datasets, where the transfer makes no sense.
void check(const BlockTransfer& transfer, const DatasetAbout& from, const DatasetAbout& to);

// Where the points of a part of `to_range` come from.
[[nodiscard]] Range source_of(const BlockTransfer& transfer, const Range& part);

// Carries it out, in pieces that take little memory.
void carry_out(const BlockTransfer& transfer, std::size_t element, Executor& executor);

}  // namespace terrace::stencil
