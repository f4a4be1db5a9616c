// SPDX-License-Identifier: Apache-2.0
// How a transfer goes through data that are larger than the fast memory: in steps, whose chunks are there
// together.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "stencil/data/block_transfer.hpp"
#include "stencil/plan/stream_plan.hpp"

namespace terrace::stencil {

struct TransferPlan {
  std::vector<Range> parts;  // of the target, by step
  std::shared_ptr<const StreamPlan> stream;
};

// Steps that need a quarter of the frames, if they can be cut so small: the next ones come meanwhile. Nothing
// where more chunks would have to be there at a time than there are frames.
[[nodiscard]] std::optional<TransferPlan> plan_transfer(const BlockTransfer& transfer,
                                                        std::span<const DatasetInfo> infos,
                                                        const StreamLayout& layout, std::size_t frames);

}  // namespace terrace::stencil
