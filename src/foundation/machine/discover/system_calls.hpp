// What only trying can tell: system calls that a kernel, a container or a batch system may refuse. An interface,
// so that tests can play systems that are not at hand.
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

  // Asks for a scratch page to come from a node (mbind). 0 or an errno value, as the next four.
  virtual int prefer(int node) = 0;
  // Moves a scratch page to a node (move_pages).
  virtual int move(int node) = 0;
  // Asks for faults to be waited for while pages are exchanged (userfaultfd with UFFDIO_MOVE); EINVAL: the kernel
  // cannot.
  virtual int exchange() = 0;
  // Asks for what memory over a file needs: userfaultfd that tells of each touch and by whom, exchanges pages, and
  // tells of mappings that are moved. EINVAL: the kernel cannot.
  virtual int wait_for_touches() = 0;
  // Opens a hardware counter of this process's cache misses (perf_event_open).
  virtual int count_misses() = 0;
  // Free for this user; nothing where the folder is not there or may not be written.
  virtual std::optional<Bytes> space(const std::string& folder) = 0;
  // What this process may lock (RLIMIT_MEMLOCK); nothing for no limit.
  virtual std::optional<Bytes> lockable() = 0;
};

// The running system's.
SystemCalls& this_system();

}  // namespace terrace::machine
