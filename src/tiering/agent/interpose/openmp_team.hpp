// SPDX-License-Identifier: Apache-2.0
// Models a team of OpenMP threads in virtual time and their synchronisation, for the interposed OpenMP functions
// (waits_openmp.cpp, waits_sections.cpp).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "agent/interpose/barriers.hpp"
#include "agent/interpose/openmp_functions.hpp"
#include "core/futex.hpp"
#include "observe/coverage/time_samples.hpp"

namespace terrace::agent {

using OpenMpWork = void (*)(void*);

// State of a parallel region during its execution.
struct OpenMpTeam {
  OpenMpTeam(const OpenMp& given_library, OpenMpWork given_work, void* given_data)
      : openmp(given_library), work(given_work), data(given_data) {}
  OpenMp openmp;
  OpenMpWork work;
  void* data;
  std::atomic<std::uint32_t> here{0};  // workers that have registered their numbers
  std::atomic<std::uint32_t> open{0};  // 1: they may begin
  std::atomic<std::uint32_t> size{0};  // 0 until the master knows
  std::vector<std::uint32_t> numbers;  // of threads, by their number in the team
  std::uint32_t working = 0;           // workers that have not ended
  std::unique_ptr<Barrier> barrier;
  void* copied = nullptr;  // by `single copyprivate`
};

// Returns the calling thread's team, or null.
extern constinit thread_local OpenMpTeam* t_team __attribute__((tls_model("initial-exec")));

// Returns the copy of libgomp to which a call with this return address is forwarded. After a tail call the address
// is in the caller's caller. For an outlined parallel region that is Terrace's library, and the team's copy is
// returned.
[[nodiscard]] OpenMp openmp_of(const void* caller);

inline std::uint64_t key_of(const void* lock) { return reinterpret_cast<std::uint64_t>(lock); }

// Sets the word and wakes its waiters.
inline void publish(std::atomic<std::uint32_t>& word, std::uint32_t value) {
  const observe::AgentScope scope;
  word.store(value, std::memory_order_release);
  futex_wake_all(word);
}

// Waits until the word is at least `value`.
inline void await_at_least(const std::atomic<std::uint32_t>& word, std::uint32_t value) {
  const observe::AgentScope scope;
  for (auto seen = word.load(std::memory_order_acquire); seen < value; seen = word.load(std::memory_order_acquire))
    futex_wait(word, seen);
}

}  // namespace terrace::agent
