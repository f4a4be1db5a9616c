// SPDX-License-Identifier: Apache-2.0
// Forms batches of faults. See fault_queue.hpp.
#include "gpu_sim/engine/fault_queue.hpp"

#include <algorithm>
#include <utility>

namespace terrace::gpu_sim {

void FaultQueue::add(std::uint32_t page) {
  queue_.push_back(page);
  ++counts_.faults;
  if (batch_.empty()) begin_batch();
}

void FaultQueue::begin_batch() {
  const auto count = std::min<std::size_t>(queue_.size(), gpu_.fault_batch);
  if (count == 0) return;
  batch_.assign(queue_.begin(), queue_.begin() + static_cast<std::ptrdiff_t>(count));
  queue_.erase(queue_.begin(), queue_.begin() + static_cast<std::ptrdiff_t>(count));
  ++counts_.batches;
  events_.schedule(events_.now() + gpu_.fault, {EventKind::faults, 0, 0});
}

std::vector<std::uint32_t> FaultQueue::take_batch() {
  auto batch = std::exchange(batch_, {});
  begin_batch();
  return batch;
}

}  // namespace terrace::gpu_sim
