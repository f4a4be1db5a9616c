// SPDX-License-Identifier: Apache-2.0
// Implements what executors have in common: the number of threads, the look-up by name, and transfers between
// blocks by get() and set(). The engine uses it when it creates its executor. See executor.hpp.
#include "stencil/execute/executor.hpp"

#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <thread>

#include "core/unknown_name.hpp"

namespace terrace::stencil {

int threads_of(const Options& options) {
  if (options.threads > 0) return static_cast<int>(options.threads);
  if (const auto* const given = std::getenv("OMP_NUM_THREADS"))
    if (const auto count = std::atoi(given); count > 0) return count;
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) return std::max(CPU_COUNT(&allowed), 1);
  return std::max(static_cast<int>(std::thread::hardware_concurrency()), 1);
}

const ExecutorVariant& find_executor(std::string_view name) { return find_named("executor", name, executors()); }

void Executor::transfer(const BlockTransfer& transfer) {
  execute_transfer(
      transfer, transfer.to_range,
      [this](DatasetId dataset, const Range& range, std::byte* values) { get(dataset, range, values); },
      [this](DatasetId dataset, const Range& range, const std::byte* values) { set(dataset, range, values); });
}

}  // namespace terrace::stencil
