// SPDX-License-Identifier: Apache-2.0
// Numbers that go from a dataset to another one, as a value: from where, to where, and how the axes lie.
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

// Throws Error{invalid}, which names the datasets, where the transfer makes no sense.
void check(const BlockTransfer& transfer, const DatasetInfo& from, const DatasetInfo& to);

// Where the points of a part of `to_range` come from.
[[nodiscard]] Range source_of(const BlockTransfer& transfer, const Range& part);

using Getter = std::function<void(DatasetId dataset, const Range& range, std::byte* values)>;
using Setter = std::function<void(DatasetId dataset, const Range& range, const std::byte* values)>;
// Carries out what goes to a part of `to_range`, in pieces that take little memory.
void execute_transfer(const BlockTransfer& transfer, const Range& part, const Getter& get, const Setter& set);

}  // namespace terrace::stencil
