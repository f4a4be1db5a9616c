// SPDX-License-Identifier: Apache-2.0
// Holds user directives that override the profile: an object is used in a phase, or it is not (Unimem, section
// 3.3: directives that inform of data dependence). Hints of the user contain them; make_problem() applies them.
// Uses determine how early a move may be requested, which items may be evicted meanwhile, and which phase waits.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/blob.hpp"

namespace terrace::model {

struct Problem;

struct Directive {
  std::string phase;   // name or shell pattern, of the phase or of a segment's phase
  std::string object;  // name or shell pattern
  bool used = true;

  bool operator==(const Directive&) const = default;
};

// Returns whether the name is equal, or matches the shell pattern (fnmatch).
bool matches_name(const std::string& name_or_pattern, const std::string& name);

class Directives {
 public:
  Directives() = default;
  explicit Directives(std::vector<Directive> all) : all_(std::move(all)) {}
  void add(Directive directive) { all_.push_back(std::move(directive)); }
  [[nodiscard]] const std::vector<Directive>& all() const { return all_; }
  [[nodiscard]] bool empty() const { return all_.empty(); }
  // Returns `used` of the first directive that matches both; empty if none does.
  [[nodiscard]] std::optional<bool> used(std::string_view phase, const std::string& object) const;

  // Serialise the directives as bytes (core/blob.hpp), for their transfer into the user's process.
  void to_blob(BlobWriter& out) const;
  static Directives from_blob(BlobReader& in);

 private:
  std::vector<Directive> all_;
};

// Removes cells that directives declare unused. Does not update the unexplained time: see fit_to_measured().
void exclude_unused(Problem& problem, const Directives& directives);

// Adds cells for declared uses that the profile has not observed. The amount is unknown: assumes one sequential
// read of the object, divided among the phase's segments. `exposed_by_a_byte`: exposed latencies per byte of a
// prefetched sweep.
void add_declared_uses(Problem& problem, const Directives& directives, double exposed_by_a_byte);

}  // namespace terrace::model
