// Who measures how much of the program the hooks reach: the runtime tells what he needs to know, and asks.
#pragma once

#include <cstdint>
#include <optional>

#include "profile/profile.hpp"
#include "profile/records.hpp"

namespace terrace::runtime {

class Coverage {
 public:
  virtual ~Coverage() = default;
  virtual void object_added(const observe::Object& object, std::uint64_t address) = 0;
  virtual void object_removed(ObjectId object) = 0;  // its memory is still there
  virtual void set_in_loop(bool in_loop) = 0;
  virtual void set_observed(bool observed) = 0;  // whether the program's accesses are reported
  // So far; nothing where nobody has measured.
  virtual std::optional<profile::CoverageRecord> so_far() = 0;
};

}  // namespace terrace::runtime
