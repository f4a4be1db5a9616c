// SPDX-License-Identifier: Apache-2.0
// Implements the model of exposed latency for each thread's pipeline. See exposure.hpp.
#include "observe/cache/exposure.hpp"

#include <algorithm>

namespace terrace::observe {

namespace {

constexpr std::int64_t k_latency = 255;  // weight of a whole latency

}  // namespace

ExposureModel::ExposureModel(std::uint32_t miss_registers, std::uint32_t window, std::uint32_t store_buffer)
    : completions_(std::max(miss_registers, 1u), 0),
      window_(std::max(window, 1u)),
      store_buffer_(std::max(store_buffer, 1u)),
      loads_(std::max(window, 1u)),
      stores_(std::max(store_buffer, 1u)) {
  pending_.reserve(completions_.size());
}

Level ExposureModel::retire_until(const Position& at) {
  const auto left = [&](const PastMiss& past) { return past.stores + store_buffer_ <= at.stores; };
  for (; !loads_.empty(); loads_.pop()) {
    const PastMiss& past = loads_.front();
    if (past.access + window_ > at.access && !left(past)) break;
    retired_ = std::max(retired_, past.highest);
  }
  for (; !stores_.empty() && left(stores_.front()); stores_.pop())
    retired_ = std::max(retired_, stores_.front().highest);
  return retired_;
}

// Invariant: a line access has at most one demand miss, so neither queue overflows.
Level ExposureModel::on_miss(Level level, const Position& at, std::uint32_t index) {
  const Level end = std::max({level, completions_[oldest_], retire_until(at)}) + 1;
  completions_[oldest_] = end;
  oldest_ = oldest_ + 1 == completions_.size() ? 0 : oldest_ + 1;
  highest_ = std::max(highest_, end);
  if (at.store) {
    stores_.push({at.access, at.stores, highest_});
  } else {
    highest_load_ = std::max(highest_load_, end);
    loads_.push({at.access, at.stores, highest_load_});
  }
  pending_.push_back(index);
  return end;
}

void ExposureModel::distribute(std::span<Miss> misses) {
  if (pending_.empty()) return;
  const auto registers = static_cast<std::int64_t>(completions_.size());
  const auto dependent =
      static_cast<std::int64_t>(std::count_if(pending_.begin(), pending_.end(), [misses](std::uint32_t index) {
        return misses[index].kind == MissKind::dependent;
      }));
  const auto independent = static_cast<std::int64_t>(pending_.size()) - dependent;
  balance_ += k_latency * (static_cast<std::int64_t>(highest_ - distributed_) * registers - independent);
  distributed_ = highest_;
  std::int64_t left = std::max<std::int64_t>(balance_ / registers, 0);
  balance_ -= left * registers;
  const auto share_among = [&](std::int64_t count, bool dependent_ones) {
    const std::int64_t total = std::min(left, k_latency * count);
    std::int64_t i = 0;
    for (const std::uint32_t index : pending_) {
      if ((misses[index].kind == MissKind::dependent) != dependent_ones) continue;
      misses[index].weight = static_cast<std::uint8_t>(total / count + (i++ < total % count ? 1 : 0));
    }
    left -= total;
  };
  share_among(dependent, true);
  share_among(independent, false);
  balance_ += left * registers;
  pending_.clear();
}

void ExposureModel::barrier() { std::fill(completions_.begin(), completions_.end(), highest_); }

}  // namespace terrace::observe
