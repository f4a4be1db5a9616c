// The cache levels that all threads of a process share, and the lock before the sink: virtual time is for one
// thread, others take turns.
#pragma once

#include <mutex>
#include <vector>

#include "access/cache.hpp"
#include "access/pipeline.hpp"
#include "access/spin_lock.hpp"

namespace terrace::access {

class SharedCache {
 public:
  explicit SharedCache(const PipelineConfig& config) {
    for (const auto& cache : config.caches) {
      if (cache.shared) levels.emplace_back(cache.size, cache.ways, config.line);
    }
  }
  std::vector<Cache> levels;  // from the core outwards
  SpinLock lock;              // of the levels
  SpinLock turn;              // of the sink
};

}  // namespace terrace::access
