// SPDX-License-Identifier: Apache-2.0
// Caches the names of entered functions, each resolved once, for phases by named functions (--phases). Used by the
// agent's state (start.cpp).
//
// Resolution may register objects and take the dynamic linker's lock, but the runtime queries names under its own
// lock. So a name is resolved before the runtime learns of the function, and only read from the cache when it
// asks. Thread-safe.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_map>

#include "agent/lifecycle/callers.hpp"
#include "observe/objects/spin_lock.hpp"

namespace terrace::agent {

class FunctionNames {
 public:
  // Resolves and caches the name. Holds no lock during the resolution. Throws std::bad_alloc.
  std::string resolve(Process& process, std::uint64_t function) {
    if (auto known = find(function); !known.empty()) return known;
    auto name = function_name(process, function);
    const std::lock_guard lock(lock_);
    return names_[function] = std::move(name);
  }

  // Returns the cached name; "" if the function was not resolved or has no name.
  [[nodiscard]] std::string find(std::uint64_t function) const {
    const std::lock_guard lock(lock_);
    const auto found = names_.find(function);
    return found == names_.end() ? std::string() : found->second;
  }

 private:
  mutable observe::SpinLock lock_;
  std::unordered_map<std::uint64_t, std::string> names_;
};

}  // namespace terrace::agent
