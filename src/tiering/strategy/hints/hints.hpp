// Hints: what is known of a program before it is profiled. How often objects are referred to, as expressions over
// values (Unimem, section 3.2: initial data placement), and which phases use which objects (section 3.3). From the
// user, by a file and by --let, and from the program, by terrace.h; the user goes before the program.
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
  std::string object;  // name or pattern; a pattern gives each object that it matches this count
  Expression references;
};

struct Hints {
  std::map<std::string, double> values;
  std::vector<ReferenceCount> counts;  // the first that names an object decides
  model::Directives directives;

  [[nodiscard]] bool empty() const { return values.empty() && counts.empty() && directives.empty(); }
  void to_blob(BlobWriter& out) const;
  static Hints from_blob(BlobReader& in);
};

// What user and program say together.
class HintRegistry {
 public:
  HintRegistry() = default;
  explicit HintRegistry(Hints given) : from_user_(std::move(given)) {}

  // The program says it; what it said before of the same is replaced. Throws Error{invalid} when it makes no
  // sense, and nothing has changed then.
  void add(const observe::ProgramHint& hint);

  [[nodiscard]] bool has_counts() const { return !from_user_.counts.empty() || !from_program_.counts.empty(); }
  [[nodiscard]] bool empty() const { return from_user_.empty() && from_program_.empty(); }
  [[nodiscard]] const ReferenceCount* count_of(const std::string& object) const;
  [[nodiscard]] std::optional<double> value(const std::string& name) const;
  [[nodiscard]] model::Directives directives() const;

  // A sentence for each name in the hints that is none of these, with the nearest that is; and for each value that
  // no expression takes.
  [[nodiscard]] std::vector<std::string> unused(const std::vector<std::string>& objects,
                                                const std::vector<std::string>& phases) const;

 private:
  void set_value(const std::string& name, double value);
  void set_count(ReferenceCount count);
  void set_directive(const model::Directive& directive);

  Hints from_user_, from_program_;
};

}  // namespace terrace::strategy
