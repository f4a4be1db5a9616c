// SPDX-License-Identifier: Apache-2.0
// Defines hints: facts on a program that are known before it is profiled. They state how often objects are
// referenced, as expressions over values (Unimem, section 3.2: initial data placement), and which phases use which
// objects (section 3.3). Hints come from the user, by a file and by --define, and from the program, by terrace.h.
// Hints of the user have precedence. Each configuration of the runtime has a registry of them, which
// LearningStrategy and planners read.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/blob.hpp"
#include "model/directives.hpp"
#include "observe/program_events.hpp"
#include "strategy/hints/expression.hpp"

namespace terrace::strategy {

struct ReferenceCount {
  std::string object;  // name or pattern; each object that matches has this count
  Expression references;
};

struct Hints {
  std::map<std::string, double> values;
  std::vector<ReferenceCount> counts;  // the first one that matches an object applies
  model::Directives directives;

  [[nodiscard]] bool empty() const { return values.empty() && counts.empty() && directives.empty(); }
  void to_blob(BlobWriter& out) const;
  static Hints from_blob(BlobReader& in);
};

// Combines the hints of the user and of the program. Not thread-safe.
class HintRegistry {
 public:
  HintRegistry() = default;
  explicit HintRegistry(Hints given) : from_user_(std::move(given)) {}

  // Adds a hint of the program, and replaces an earlier one on the same subject. Throws Error{invalid} for an
  // invalid hint; nothing has changed then.
  void add(const observe::ProgramHint& hint);

  [[nodiscard]] bool has_counts() const { return !from_user_.counts.empty() || !from_program_.counts.empty(); }
  [[nodiscard]] bool empty() const { return from_user_.empty() && from_program_.empty(); }
  [[nodiscard]] const ReferenceCount* count_of(const std::string& object) const;
  [[nodiscard]] std::optional<double> value(const std::string& name) const;
  [[nodiscard]] model::Directives directives() const;

  // Returns a sentence for each object or phase in the hints that is not listed, with the nearest name that is,
  // and for each value that no expression uses.
  [[nodiscard]] std::vector<std::string> unused(const std::vector<std::string>& objects,
                                                const std::vector<std::string>& phases) const;

 private:
  void set_value(const std::string& name, double value);
  void set_count(ReferenceCount count);
  void set_directive(const model::Directive& directive);

  Hints from_user_, from_program_;
};

}  // namespace terrace::strategy
