// SPDX-License-Identifier: Apache-2.0
// Decorates an allocator: records its requests as a trace. bmem.h uses it with BMEM_TRACE=FILE. Thread-safe.
//
// Threads do not wait for one another's searches, only for the output lock. A release is written before it is
// executed and an allocation after it, so in the trace no block overlaps a live one.
#pragma once

#include <mutex>
#include <ostream>
#include <span>
#include <unordered_map>
#include <vector>

#include "pim/trace/trace.hpp"

namespace terrace::pim {

class Recorder {
 public:
  // Both must outlive it. Writes the trace's header.
  Recorder(Allocator& allocator, std::ostream& out);

  // Forward to the allocator and record the call. Calls that throw Error, and releases of what is no live block
  // of this recorder, are not recorded.
  Handle allocate(const Request& request);
  std::vector<Handle> allocate_group(std::span<const Request> requests, Within share);
  Released release(Handle handle);

  [[nodiscard]] Allocator& allocator() { return allocator_; }

 private:
  Operation written(const Request& request, Handle handle, Handle beside);

  Allocator& allocator_;
  std::mutex lock_;  // guards the members below
  std::ostream& out_;
  std::uint64_t last_ = 0;
  std::unordered_map<std::uint64_t, std::uint64_t> ids_;  // ids of live blocks, by handle
};

}  // namespace terrace::pim
