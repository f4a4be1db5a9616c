// SPDX-License-Identifier: Apache-2.0
// Checks a pointer against all of Terrace's heaps. See invalid_blocks.hpp.
#include "agent/interpose/invalid_blocks.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "agent/heap/ordered_heap.hpp"
#include "agent/heap/spilled_heap.hpp"
#include "agent/heap/spilled_small.hpp"
#include "agent/lifecycle/in_process.hpp"
#include "agent/lifecycle/process.hpp"
#include "memory/arenas/block_arena.hpp"
#include "memory/region_space.hpp"

namespace terrace::agent {

namespace {

bool is_invalid_region(const void* address) noexcept {
  const auto* const space = regions();
  if (!space || !space->contains(address)) return false;
  const auto found = space->find(address);
  if (found.size > 0) return found.address != reinterpret_cast<std::uint64_t>(address);
  return process() != nullptr;  // if inactive, a block of Terrace may have been unmapped there
}

}  // namespace

bool is_invalid_block(const void* address) noexcept {
  if (const auto* const heap = ordered_heap(); heap && heap->is_invalid_block(address)) return true;
  if (const auto* const small = spilled_small(); small && small->contains(address))
    return !memory::BlockArena::is_block_start(address);
  if (const auto* const heap = spilled_heap(); heap && process() && heap->is_invalid_block(address)) return true;
  return is_invalid_region(address);
}

void require_valid_block(const void* address, const char* line) noexcept {
  if (!is_invalid_block(address)) return;
  // Bare system call: the program may have interposed write().
  syscall(SYS_write, STDERR_FILENO, line, std::strlen(line));
  std::abort();
}

}  // namespace terrace::agent
