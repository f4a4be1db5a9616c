// What a person says of phases and objects, against what a profile has seen: this object is used in that phase, or
// it is not (Unimem, section 3.3: directives that inform of data dependence). Uses decide how early a move may be
// asked for, who may leave meanwhile, and which phase waits.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/blob.hpp"

namespace terrace::model {

struct Problem;

struct Directive {
  std::string phase;   // name or pattern of the shell, of the phase or a segment's phase
  std::string object;  // the same
  bool used = true;

  bool operator==(const Directive&) const = default;
};

// Whether the name is that one, or the pattern matches it.
bool names(const std::string& name_or_pattern, const std::string& name);

class Directives {
 public:
  Directives() = default;
  explicit Directives(std::vector<Directive> all) : all_(std::move(all)) {}
  void add(Directive directive) { all_.push_back(std::move(directive)); }
  [[nodiscard]] const std::vector<Directive>& all() const { return all_; }
  [[nodiscard]] bool empty() const { return all_.empty(); }
  // The first that speaks of both; nothing where none does.
  [[nodiscard]] std::optional<bool> used(std::string_view phase, const std::string& object) const;

  void to_blob(BlobWriter& out) const;
  static Directives from_blob(BlobReader& in);

 private:
  std::vector<Directive> all_;
};

// Takes out of the problem's phases what directives spare. What its traffic explained of a phase's measured time
// is for whoever holds the phases against it.
void spare(Problem& problem, const Directives& directives);

// Adds what directives use where the profile has seen nothing. How much nobody has seen, so it counts as one
// reading from end to end; of a phase in segments each has its part. `exposed_by_a_byte`: latencies, of a sweep
// that is prefetched.
void use(Problem& problem, const Directives& directives, double exposed_by_a_byte);

}  // namespace terrace::model
