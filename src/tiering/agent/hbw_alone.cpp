// SPDX-License-Identifier: Apache-2.0
// Replaces the injected library's life cycle (lifecycle/startup.cpp) in libterrace-hbw.so, which programs link for
// hbwmalloc.h alone: no session, no interposed functions.
#include <pthread.h>

#include "agent/heap/internal_heap.hpp"
#include "agent/lifecycle/in_process.hpp"
#include "agent/lifecycle/process.hpp"

namespace terrace::agent {

namespace {

// Registered first, so that the internal heap is locked last before a fork.
__attribute__((constructor)) void lock_around_forks() {
  const auto unlock = [] { internal_heap().unlock(); };
  pthread_atfork([] { internal_heap().lock(); }, unlock, unlock);
}

}  // namespace

constinit ProcessPointers g_pointers;
Process* ensure_started() noexcept { return nullptr; }

}  // namespace terrace::agent
