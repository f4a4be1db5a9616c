// SPDX-License-Identifier: Apache-2.0
// Declares the interface of instrumentation coverage: how much of the program the hooks reach.
//
// The runtime reports objects, the loop and the state of observation to the implementation, and reads the result
// when it writes the journals. The agent implements it by time sampling; a replay returns the recorded result.
#pragma once

#include <cstdint>
#include <optional>

#include "profile/profile.hpp"
#include "profile/records.hpp"

namespace terrace::runtime {

class Coverage {
 public:
  virtual ~Coverage() = default;
  virtual void on_object_added(const observe::Object& object, std::uint64_t address) = 0;
  // Requires: the object's memory is still mapped.
  virtual void on_object_removed(ObjectId object) = 0;
  virtual void set_in_loop(bool in_loop) = 0;
  // Sets whether the program's accesses are reported at present.
  virtual void set_observed(bool observed) = 0;
  // Returns the coverage so far, or nothing if it was not measured.
  virtual std::optional<profile::CoverageRecord> so_far() = 0;
};

}  // namespace terrace::runtime
