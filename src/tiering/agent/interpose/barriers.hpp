// Barriers of threads that take turns: of POSIX threads and of OpenMP's teams.
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
  // Returns when all have come. True for the one that came last.
  bool wait() noexcept;

 private:
  std::uint32_t count_;
  std::uint64_t round_ = 0;
  std::vector<std::uint32_t> arrived_;  // numbers of the threads that have come
};

// By address.
class Barriers {
 public:
  void set(std::uint64_t key, std::uint32_t count) noexcept;
  void forget(std::uint64_t key) noexcept;
  [[nodiscard]] Barrier* find(std::uint64_t key) noexcept;

 private:
  observe::SpinLock lock_;
  std::unordered_map<std::uint64_t, std::unique_ptr<Barrier>> by_key_;
};
// The process's.
Barriers& barriers() noexcept;

}  // namespace terrace::agent
