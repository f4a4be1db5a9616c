// The cache levels that all threads of a process share.
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
  SpinLock lock;                          // of the levels
  std::atomic<std::uint64_t> unknown{0};  // line accesses whose address nobody knew

  // Whether a pipeline has to lock the levels: once there is a second pipeline. One that is in the levels at that
  // moment has not locked them; the worst of that is a line that is in its set twice.
  [[nodiscard]] bool contended() const { return pipelines_.load(std::memory_order_relaxed) > 1; }
  void join() { pipelines_.fetch_add(1, std::memory_order_relaxed); }

 private:
  std::atomic<std::uint32_t> pipelines_{0};  // that ever were
};

}  // namespace terrace::observe
