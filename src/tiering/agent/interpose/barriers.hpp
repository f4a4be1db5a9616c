// SPDX-License-Identifier: Apache-2.0
// Implements barriers for scheduled threads in virtual time: POSIX barriers and those of OpenMP teams. Used by the
// interposed functions at which threads wait (waits_locks.cpp, waits_openmp.cpp).
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "observe/objects/spin_lock.hpp"

namespace terrace::agent {

class Barrier {
 public:
  explicit Barrier(std::uint32_t count) : count_(count) {}
  // Blocks until all threads have arrived. Returns true on the last one.
  bool wait() noexcept;

 private:
  std::uint32_t count_;
  std::uint64_t round_ = 0;
  std::vector<std::uint32_t> arrived_;  // numbers of the threads that have arrived
};

// Maps the addresses of the program's barrier objects to barriers. Thread-safe.
class Barriers {
 public:
  void set(std::uint64_t key, std::uint32_t count) noexcept;
  void forget(std::uint64_t key) noexcept;
  [[nodiscard]] Barrier* find(std::uint64_t key) noexcept;

 private:
  observe::SpinLock lock_;
  std::unordered_map<std::uint64_t, std::unique_ptr<Barrier>> by_key_;
};
// Returns the process's table.
Barriers& barriers() noexcept;

}  // namespace terrace::agent
