// SPDX-License-Identifier: Apache-2.0
// Counts events by function in calibrating runs, for the pipelines. See function_counters.hpp.
#include "observe/pipeline/function_counters.hpp"

#include <algorithm>
#include <mutex>

#include "observe/pipeline/program_state_guard.hpp"
#include "observe/threads/thread.hpp"

namespace terrace::observe {

FunctionCounters::Index FunctionCounters::find(std::uint64_t site) {
  const RuntimeScope inside;
  const ProgramStateGuard guard;
  const auto name = name_of_(site);
  const std::lock_guard lock(lock_);
  auto found = indices_.find(name);
  if (found == indices_.end()) {
    // Functions beyond the largest index share the last one.
    const auto index = static_cast<Index>(std::min<std::size_t>(counters_.size(), k_max));
    if (counters_.size() <= k_max) counters_.emplace_back().name = name;
    found = indices_.emplace(name, index).first;
  }
  entries_[site % k_entries].store(site << k_bits | found->second, std::memory_order_relaxed);
  return found->second;
}

std::string FunctionCounters::format() {
  const std::lock_guard guard(lock_);
  std::string text;
  for (const auto& one : counters_) {
    text += one.name;
    for (const auto& count : one.counts)
      text.append(1, '\t').append(std::to_string(count.load(std::memory_order_relaxed)));
    text += "\n";
  }
  return text;
}

}  // namespace terrace::observe
