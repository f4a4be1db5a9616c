// SPDX-License-Identifier: Apache-2.0
// Plans the out-of-core execution of a BlockTransfer: cuts it into steps whose chunks fit into memory together.
// Used by the executor `streamed`.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "stencil/data/block_transfer.hpp"
#include "stencil/plan/stream_plan.hpp"

namespace terrace::stencil {

struct TransferPlan {
  std::vector<Range> parts;  // ranges of the target, by step
  std::shared_ptr<const StreamPlan> stream;
};

// Plans steps that use a quarter of the frames if possible, so that the next steps are prefetched meanwhile.
// Returns nothing if even the smallest step needs more chunks than there are frames.
[[nodiscard]] std::optional<TransferPlan> plan_transfer(const BlockTransfer& transfer,
                                                        std::span<const DatasetInfo> infos,
                                                        const StreamLayout& layout, std::size_t frames);

}  // namespace terrace::stencil
