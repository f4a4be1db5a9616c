// SPDX-License-Identifier: Apache-2.0
// Describes a copy of field data from a range of one dataset to a range of another, with an axis permutation, and
// executes it. The engine queues it for Context::transfer(); executors run it. A BlockTransfer is a plain value.
#pragma once

#include <cstddef>
#include <functional>

#include "stencil/data/storage.hpp"
#include "terrace/stencil/context.hpp"

namespace terrace::stencil {

struct BlockTransfer {
  DatasetId from = 0;
  Range from_range;
  DatasetId to = 0;
  Range to_range;
  Orientation orientation;
  std::size_t element = 0;  // bytes
};

// Throws Error{invalid}, which names both datasets, if the transfer is impossible.
void check(const BlockTransfer& transfer, const DatasetInfo& from, const DatasetInfo& to);

// Returns the source range of a part of `to_range`.
[[nodiscard]] Range source_of(const BlockTransfer& transfer, const Range& part);

using Getter = std::function<void(DatasetId dataset, const Range& range, std::byte* values)>;
using Setter = std::function<void(DatasetId dataset, const Range& range, const std::byte* values)>;
// Copies the values for `part` of `to_range`, in slabs (slabs.hpp), so that little temporary memory is needed.
void execute_transfer(const BlockTransfer& transfer, const Range& part, const Getter& get, const Setter& set);

}  // namespace terrace::stencil
