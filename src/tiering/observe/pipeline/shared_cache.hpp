// SPDX-License-Identifier: Apache-2.0
// Holds the cache levels that all pipelines of a process share.
#pragma once

#include <atomic>
#include <vector>

#include "observe/cache/cache.hpp"
#include "observe/objects/spin_lock.hpp"
#include "observe/pipeline/pipeline.hpp"

namespace terrace::observe {

class SharedCache {
 public:
  explicit SharedCache(const PipelineConfig& config) {
    for (const auto& cache : config.caches) {
      if (cache.shared) levels.emplace_back(cache.size, cache.ways, config.line);
    }
  }
  std::vector<Cache> levels;              // from the core outwards
  SpinLock lock;                          // guards the levels
  std::atomic<std::uint64_t> unknown{0};  // line accesses at addresses that the map does not have

  // Returns whether a pipeline has to lock the levels: true once there is a second pipeline. A pipeline that
  // accesses the levels at that moment has not locked them; at worst a line is then in its set twice.
  [[nodiscard]] bool is_contended() const { return pipelines_.load(std::memory_order_relaxed) > 1; }
  void register_pipeline() { pipelines_.fetch_add(1, std::memory_order_relaxed); }

 private:
  std::atomic<std::uint32_t> pipelines_{0};  // created so far
};

}  // namespace terrace::observe
