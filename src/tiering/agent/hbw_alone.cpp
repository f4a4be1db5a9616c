// What libterrace-hbw.so has in place of the injected library: no session, and nothing that it interposes.
#include <pthread.h>

#include "agent/heap/internal_heap.hpp"
#include "agent/lifecycle/in_process.hpp"
#include "agent/lifecycle/process.hpp"

namespace terrace::agent {

namespace {

// The first, so that it is the last that is locked before a fork.
__attribute__((constructor)) void lock_around_forks() {
  const auto unlock = [] { internal_heap().unlock(); };
  pthread_atfork([] { internal_heap().lock(); }, unlock, unlock);
}

}  // namespace

constinit ProcessPointers g_pointers;
Process* ensure_started() noexcept { return nullptr; }

}  // namespace terrace::agent
