// See function_use.hpp.
#include "observe/pipeline/function_use.hpp"

#include <algorithm>
#include <mutex>

#include "observe/pipeline/undisturbed.hpp"
#include "observe/threads/thread.hpp"

namespace terrace::observe {

FunctionUse::Index FunctionUse::find(std::uint64_t site) {
  const Inside inside;
  const Undisturbed undisturbed;
  const auto name = name_(site);
  const std::lock_guard guard(lock_);
  auto known = known_.find(name);
  if (known == known_.end()) {
    // What is beyond the largest number shares the last one.
    const auto index = static_cast<Index>(std::min<std::size_t>(uses_.size(), k_max));
    if (uses_.size() <= k_max) uses_.emplace_back().name = name;
    known = known_.emplace(name, index).first;
  }
  entries_[site % k_entries].store(site << k_bits | known->second, std::memory_order_relaxed);
  return known->second;
}

std::string FunctionUse::text() {
  const std::lock_guard guard(lock_);
  std::string text;
  for (const auto& use : uses_) {
    text += use.name;
    for (const auto& count : use.counts)
      text.append(1, '\t').append(std::to_string(count.load(std::memory_order_relaxed)));
    text += "\n";
  }
  return text;
}

}  // namespace terrace::observe
