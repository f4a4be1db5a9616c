// The phases and segments of a plan file while it is read: labels become positions, and a share of a phase that is
// no segment yet becomes one.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/plan.hpp"
#include "machine/file/toml_table.hpp"

namespace terrace::strategy {

// What a file has, for a message of one line.
std::string in_quotes(const std::string& text);

class PlanTimeline {
 public:
  // Where something begins: so many accesses into a phase, by its position among phases.
  struct Point {
    std::uint32_t phase = 0;
    std::uint64_t offset = 0;

    auto operator<=>(const Point&) const = default;
  };

  // From the file's `phases`, and what [internals] has of their segments. All throw Error{invalid}.
  explicit PlanTimeline(const machine::TomlTable& file);

  // What the key's text says: a phase or segment by its label, or a share of a phase ("matvec 3, 12 %").
  Point point(const machine::TomlTable& table, const char* key);
  // The same where the file may have lost it: nothing.
  [[nodiscard]] std::optional<Point> known(const std::string& label) const;

  // Once all points are known: phases, lengths, rate limits and repeats.
  void put(Plan& plan);
  [[nodiscard]] std::uint32_t position(const Point& point) const;  // in Plan::phases, after put()

 private:
  struct Phase {
    std::string name, label;
    std::uint64_t length = 0;                     // accesses; 0: unknown
    std::map<std::uint64_t, double> rate_limits;  // by where a segment begins
    std::string again_from;
    // How long the segments take of which [internals] knew, and where they begin; nothing: unknown.
    std::vector<std::uint64_t> timed;
    std::vector<double> times;
  };

  void read_phases(const machine::TomlTable& file);
  void read_internals(const machine::TomlTable& phase);
  void learn_lengths();
  static void put_times(const Phase& phase, std::vector<Seconds>& times);
  std::optional<Point> share(const machine::TomlTable& table, const char* key, const std::string& text);
  [[nodiscard]] std::vector<std::string> names() const;
  [[nodiscard]] std::vector<std::uint64_t> lengths() const;  // by position, where segments do not say the same

  std::vector<Phase> phases_;
  std::map<std::string, std::uint32_t> of_label_;  // of phases
  std::map<std::string, Point> labels_;            // of phases and segments that the file has
  std::vector<std::uint32_t> begins_;              // of phases: where in Plan::phases
  bool limited_ = false;
  bool timed_ = false;
};

}  // namespace terrace::strategy
