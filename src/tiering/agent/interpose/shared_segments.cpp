// SPDX-License-Identifier: Apache-2.0
// Interposes shmat(2) and shmdt(2), for the listener of shared mappings.
#include <sys/shm.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

#include "agent/interpose/shared_mappings.hpp"
#include "agent/lifecycle/in_process.hpp"
#include "core/errno_scope.hpp"
#include "observe/coverage/time_samples.hpp"
#include "observe/threads/thread.hpp"

namespace terrace::agent {

namespace {

// Returns null for Terrace's own calls, and where nothing listens.
SharedMappingListener* listener() {
  auto* const here = observe::t_thread.inside == 0 ? process() : nullptr;
  return here ? here->shared_mappings : nullptr;
}

}  // namespace

}  // namespace terrace::agent

namespace agent = terrace::agent;

extern "C" {

TERRACE_EXPORT void* shmat(int segment, const void* address, int flags) noexcept {
  void* const got = reinterpret_cast<void*>(syscall(SYS_shmat, segment, address, flags));
  if (reinterpret_cast<std::intptr_t>(got) == -1) return got;
  if (auto* const to = agent::listener()) {
    const terrace::ErrnoScope errno_scope;
    to->on_attached(got, segment);
  }
  return got;
}

TERRACE_EXPORT int shmdt(const void* address) noexcept {
  const auto answer = static_cast<int>(syscall(SYS_shmdt, address));
  if (answer != 0) return answer;
  if (auto* const to = agent::listener()) to->on_detached(address);
  return answer;
}

}  // extern "C"
