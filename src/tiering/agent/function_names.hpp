// The names of functions that were entered, each looked up once.
//
// Looking one up may register objects and take the dynamic linker's lock; the runtime asks for names while it
// holds its own. So a name is learned before the runtime hears of the function, and only remembered when it asks.
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
  // Holds no lock while it looks. Throws std::bad_alloc.
  std::string learn(Process& process, std::uint64_t function) {
    if (auto known = find(function); !known.empty()) return known;
    auto name = function_name(process, function);
    const std::lock_guard lock(lock_);
    return names_[function] = std::move(name);
  }

  // "" for what was not learned, or has no name.
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
