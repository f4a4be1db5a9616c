// SPDX-License-Identifier: Apache-2.0
// Implements the barriers of pthreads and OpenMP in virtual time, on top of the scheduler, for waits_locks.cpp and
// waits_openmp.cpp. See barriers.hpp.
#include "agent/interpose/barriers.hpp"

#include <cstddef>
#include <mutex>
#include <new>

#include "agent/interpose/scheduling.hpp"
#include "observe/threads/thread.hpp"

namespace terrace::agent {

// Waits in the scheduler. The last thread sets all clocks to the latest, and wakes the others.
bool Barrier::wait() noexcept {
  {
    const observe::RuntimeScope inside;
    arrived_.push_back(this_thread());
  }
  const auto key = reinterpret_cast<std::uint64_t>(this);
  if (arrived_.size() < count_) {
    const auto round = round_;
    while (round == round_ && is_scheduled()) wait_for(key);
    return false;
  }
  sync_at_barrier(arrived_);
  arrived_.clear();
  ++round_;
  wake(key, k_all_waiters);
  return true;
}

void Barriers::set(std::uint64_t key, std::uint32_t count) noexcept {
  const observe::RuntimeScope inside;
  const std::lock_guard lock(lock_);
  by_key_[key] = std::make_unique<Barrier>(count);
}

void Barriers::forget(std::uint64_t key) noexcept {
  const observe::RuntimeScope inside;
  const std::lock_guard lock(lock_);
  by_key_.erase(key);
}

Barrier* Barriers::find(std::uint64_t key) noexcept {
  const observe::RuntimeScope inside;
  const std::lock_guard lock(lock_);
  const auto at = by_key_.find(key);
  return at == by_key_.end() ? nullptr : at->second.get();
}

Barriers& barriers() noexcept {
  // Never destroyed: threads may outlive static data.
  alignas(Barriers) static std::byte storage[sizeof(Barriers)];
  static Barriers* const all = new (storage) Barriers;
  return *all;
}

}  // namespace terrace::agent
