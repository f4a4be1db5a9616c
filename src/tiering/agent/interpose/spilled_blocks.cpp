// SPDX-License-Identifier: Apache-2.0
// Forwards to the spilled heap inside Terrace's scope. See spilled_blocks.hpp.
#include "agent/interpose/spilled_blocks.hpp"

#include <cerrno>

#include "agent/heap/spilled_heap.hpp"
#include "agent/lifecycle/in_process.hpp"
#include "agent/lifecycle/process.hpp"
#include "observe/coverage/time_samples.hpp"
#include "observe/threads/thread.hpp"

namespace terrace::agent {

bool is_spilled(const void* block) noexcept {
  const auto* const heap = spilled_heap();
  return heap && heap->size_of(block) > 0;
}

bool release_spilled(void* block) noexcept {
  if (!is_spilled(block)) return false;
  if (!process()) return true;
  const observe::OwnTimeScope own;
  const observe::RuntimeScope inside;
  const auto saved = errno;
  spilled_heap()->release(block);
  errno = saved;
  return true;
}

bool resize_spilled(void* block, std::size_t old_size, std::size_t size) noexcept {
  if (!is_spilled(block) || !process() || observe::t_thread.inside != 0) return false;
  const observe::OwnTimeScope own;
  const observe::RuntimeScope inside;
  const auto saved = errno;
  const bool done = size > old_size ? spilled_heap()->grow(block, size) : spilled_heap()->shrink(block, size);
  errno = saved;
  return done;
}

}  // namespace terrace::agent
