// SPDX-License-Identifier: Apache-2.0
// Writes down what an allocator is asked, as it is asked, from any number of threads.
//
// Threads do not wait for one another's searches, only for the line that is being written. A release is written
// before it happens and an allocation after it: so in the order of the lines no block is where another still
// does.
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
  // Both must outlive it. Writes the trace's first line.
  Recorder(Allocator& allocator, std::ostream& out);

  // The allocator's own, written down. What it refuses with an Error, and a release of what is no live block of
  // this recorder, leaves no line.
  Handle allocate(const Request& request);
  std::vector<Handle> allocate_group(std::span<const Request> requests, Within share);
  Released release(Handle handle);

  [[nodiscard]] Allocator& allocator() { return allocator_; }

 private:
  Operation written(const Request& request, Handle handle, Handle beside);

  Allocator& allocator_;
  std::mutex lock_;  // for what follows
  std::ostream& out_;
  std::uint64_t last_ = 0;
  std::unordered_map<std::uint64_t, std::uint64_t> ids_;  // of live blocks, by handle
};

}  // namespace terrace::pim
