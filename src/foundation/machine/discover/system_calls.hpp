// SPDX-License-Identifier: Apache-2.0
// Declares the interface of `terrace machine check` to system calls that a kernel, a container or a batch system
// may refuse, which only a trial can tell. Tests implement it to simulate other systems.
#pragma once

#include <optional>
#include <string>

#include "core/units.hpp"

namespace terrace::machine {

class SystemCalls {
 public:
  SystemCalls() = default;
  SystemCalls(const SystemCalls&) = delete;
  SystemCalls& operator=(const SystemCalls&) = delete;
  virtual ~SystemCalls() = default;

  // Sets the policy of a scratch page to a node (mbind). Returns 0 or an errno value, as the next four.
  virtual int try_prefer_node(int node) = 0;
  // Migrates a scratch page to a node (move_pages).
  virtual int try_move_page(int node) = 0;
  // Opens what page exchange needs: userfaultfd with UFFDIO_MOVE. EINVAL: the kernel lacks it.
  virtual int try_exchange_pages() = 0;
  // Opens what out-of-core memory needs: userfaultfd that reports faults with their thread, moves pages, and
  // reports mremap. EINVAL: the kernel lacks it.
  virtual int try_trap_faults() = 0;
  // Opens a hardware counter of this process's cache misses (perf_event_open).
  virtual int try_count_misses() = 0;
  // Returns the space available to this user, or nothing if the folder does not exist or is not writable.
  virtual std::optional<Bytes> free_space(const std::string& folder) = 0;
  // Returns how much memory this process may lock (RLIMIT_MEMLOCK), or nothing if there is no limit.
  virtual std::optional<Bytes> locked_memory_limit() = 0;
};

// Returns the system calls of the running system.
SystemCalls& this_system();

}  // namespace terrace::machine
