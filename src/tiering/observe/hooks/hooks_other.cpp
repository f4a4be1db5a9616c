// SPDX-License-Identifier: Apache-2.0
// Defines the rest of the thread sanitizer's interface. Races, locks and fibers do not affect access streams:
// these entry points exist so that programs that call them link and run. Callers pass more arguments than the
// functions take, which the supported C calling conventions allow.
#include <cstddef>
#include <cstring>

#include "observe/pipeline/trace.hpp"

using terrace::observe::trace_range;

#define HOOK_NOTHING(name) \
  TERRACE_HOOK void name() {}

extern "C" {

HOOK_NOTHING(__tsan_init)
HOOK_NOTHING(__tsan_flush_memory)
// Ranges in which races are ignored: their accesses are traced all the same.
HOOK_NOTHING(__tsan_ignore_thread_begin)
HOOK_NOTHING(__tsan_ignore_thread_end)
HOOK_NOTHING(__tsan_acquire)
HOOK_NOTHING(__tsan_release)

HOOK_NOTHING(__tsan_mutex_create)
HOOK_NOTHING(__tsan_mutex_destroy)
HOOK_NOTHING(__tsan_mutex_pre_lock)
HOOK_NOTHING(__tsan_mutex_post_lock)
TERRACE_HOOK int __tsan_mutex_pre_unlock() { return 0; }
HOOK_NOTHING(__tsan_mutex_post_unlock)
HOOK_NOTHING(__tsan_mutex_pre_signal)
HOOK_NOTHING(__tsan_mutex_post_signal)
HOOK_NOTHING(__tsan_mutex_pre_divert)
HOOK_NOTHING(__tsan_mutex_post_divert)

// Fibers are not followed: any non-null address is a valid handle.
TERRACE_HOOK void* __tsan_get_current_fiber() { return &terrace::observe::t_thread; }
TERRACE_HOOK void* __tsan_create_fiber() { return &terrace::observe::t_thread; }
HOOK_NOTHING(__tsan_destroy_fiber)
HOOK_NOTHING(__tsan_switch_to_fiber)
HOOK_NOTHING(__tsan_set_fiber_name)

TERRACE_HOOK void* __tsan_external_register_tag() { return nullptr; }
HOOK_NOTHING(__tsan_external_register_header)
HOOK_NOTHING(__tsan_external_assign_tag)
HOOK_NOTHING(__tsan_external_read)
HOOK_NOTHING(__tsan_external_write)

// clang replaces the program's memcpy, memmove and memset by these.
TERRACE_HOOK void* __tsan_memcpy(void* to, const void* from, std::size_t size) {
  trace_range(from, size, false, TERRACE_SITE);
  trace_range(to, size, true, TERRACE_SITE);
  const terrace::observe::RuntimeScope inside;  // the copy is traced already
  return std::memcpy(to, from, size);
}
TERRACE_HOOK void* __tsan_memmove(void* to, const void* from, std::size_t size) {
  trace_range(from, size, false, TERRACE_SITE);
  trace_range(to, size, true, TERRACE_SITE);
  const terrace::observe::RuntimeScope inside;
  return std::memmove(to, from, size);
}
TERRACE_HOOK void* __tsan_memset(void* to, int value, std::size_t size) {
  trace_range(to, size, true, TERRACE_SITE);
  const terrace::observe::RuntimeScope inside;
  return std::memset(to, value, size);
}

// Dynamic annotations in the sources of programs and libraries.
HOOK_NOTHING(AnnotateHappensBefore)
HOOK_NOTHING(AnnotateHappensAfter)
HOOK_NOTHING(AnnotateCondVarSignal)
HOOK_NOTHING(AnnotateCondVarSignalAll)
HOOK_NOTHING(AnnotateCondVarWait)
HOOK_NOTHING(AnnotateMutexIsNotPHB)
HOOK_NOTHING(AnnotateMutexIsUsedAsCondVar)
HOOK_NOTHING(AnnotateRWLockCreate)
HOOK_NOTHING(AnnotateRWLockCreateStatic)
HOOK_NOTHING(AnnotateRWLockDestroy)
HOOK_NOTHING(AnnotateRWLockAcquired)
HOOK_NOTHING(AnnotateRWLockReleased)
HOOK_NOTHING(AnnotateTraceMemory)
HOOK_NOTHING(AnnotateFlushState)
HOOK_NOTHING(AnnotateNewMemory)
HOOK_NOTHING(AnnotateNoOp)
HOOK_NOTHING(AnnotateFlushExpectedRaces)
HOOK_NOTHING(AnnotateEnableRaceDetection)
HOOK_NOTHING(AnnotatePCQGet)
HOOK_NOTHING(AnnotatePCQPut)
HOOK_NOTHING(AnnotatePCQDestroy)
HOOK_NOTHING(AnnotatePCQCreate)
HOOK_NOTHING(AnnotateExpectRace)
HOOK_NOTHING(AnnotateBenignRace)
HOOK_NOTHING(AnnotateBenignRaceSized)
HOOK_NOTHING(AnnotateIgnoreReadsBegin)
HOOK_NOTHING(AnnotateIgnoreReadsEnd)
HOOK_NOTHING(AnnotateIgnoreWritesBegin)
HOOK_NOTHING(AnnotateIgnoreWritesEnd)
HOOK_NOTHING(AnnotateIgnoreSyncBegin)
HOOK_NOTHING(AnnotateIgnoreSyncEnd)
HOOK_NOTHING(AnnotatePublishMemoryRange)
HOOK_NOTHING(AnnotateUnpublishMemoryRange)
HOOK_NOTHING(AnnotateThreadName)
HOOK_NOTHING(AnnotateMemoryIsInitialized)
HOOK_NOTHING(AnnotateMemoryIsUninitialized)
HOOK_NOTHING(WTFAnnotateHappensBefore)
HOOK_NOTHING(WTFAnnotateHappensAfter)
HOOK_NOTHING(WTFAnnotateBenignRaceSized)
TERRACE_HOOK int RunningOnValgrind() { return 0; }
TERRACE_HOOK double ValgrindSlowdown() { return 1.0; }
TERRACE_HOOK const char* ThreadSanitizerQuery() { return ""; }

}  // extern "C"
