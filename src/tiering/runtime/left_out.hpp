// What phases count for that were left out, where not every iteration is observed: what the last ones of their
// like took.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "runtime/phase_tracker.hpp"
#include "runtime/runtime_parts.hpp"

namespace terrace::runtime {

class LeftOut {
 public:
  explicit LeftOut(const ConfigurationParts& parts) : parts_(parts) {}

  void begin_loop() { measured_.clear(); }
  // A phase that is observed begins; it ends, and others may count as it did.
  void begin_measuring() { before_ = so_far(); }
  void keep_measured(const PhaseTracker& tracker);
  // A phase that was not observed ends, or begins to be observed, and counts as the last one of its like.
  void count(const PhaseTracker& tracker);
  // Of everything, what was left out with it.
  [[nodiscard]] Totals totals() const;

 private:
  [[nodiscard]] Totals so_far() const { return parts_.totals ? parts_.totals() : Totals{}; }

  const ConfigurationParts& parts_;
  std::map<std::pair<PhaseIndex, std::string>, Totals> measured_;  // phases that were observed last
  Totals before_;
  Totals carried_;
};

}  // namespace terrace::runtime
