// SPDX-License-Identifier: Apache-2.0
// Resolves the phases and segments (parts of a phase) of a plan file while plan_file.cpp reads it: labels to
// positions. A share of a phase that is not a segment yet becomes one.
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

// Returns a text of a file in quotes for a message: at most 60 characters, control characters replaced by '?'.
std::string in_quotes(const std::string& text);

class PlanTimeline {
 public:
  // A position in the iteration: `offset` accesses after the beginning of a phase.
  struct Point {
    std::uint32_t phase = 0;
    std::uint64_t offset = 0;

    auto operator<=>(const Point&) const = default;
  };

  // Reads the file's `phases`, and their segments in [internals]. All members throw Error{invalid}.
  explicit PlanTimeline(const machine::TomlTable& file);

  // Returns the point that the key's text names: a phase or segment by its label, or a share of a phase
  // ("matvec 3, 12 %").
  Point point(const machine::TomlTable& table, const char* key);
  // Returns the point of a label, or nothing if the file does not have it.
  [[nodiscard]] std::optional<Point> known(const std::string& label) const;

  // Writes phases, lengths, rate limits and repeats into the plan. Requires: all points were read.
  void put(Plan& plan);
  // Returns the index of the point in Plan::phases. Requires: put() was called.
  [[nodiscard]] std::uint32_t position(const Point& point) const;

 private:
  struct Phase {
    std::string name, label;
    std::uint64_t length = 0;                     // accesses; 0: unknown
    std::map<std::uint64_t, double> rate_limits;  // by where a segment begins
    std::string again_from;
    // Offsets and times of the segments in [internals]; empty: unknown.
    std::vector<std::uint64_t> timed;
    std::vector<double> times;
  };

  void read_phases(const machine::TomlTable& file);
  void read_internals(const machine::TomlTable& phase);
  void learn_lengths();
  static void put_times(const Phase& phase, std::vector<Seconds>& times);
  std::optional<Point> share(const machine::TomlTable& table, const char* key, const std::string& text);
  [[nodiscard]] std::vector<std::string> names() const;
  [[nodiscard]] std::vector<std::uint64_t> lengths() const;  // by position; 0 if the segments imply it

  std::vector<Phase> phases_;
  std::map<std::string, std::uint32_t> of_label_;  // of phases
  std::map<std::string, Point> labels_;            // of phases and segments that the file has
  std::vector<std::uint32_t> begins_;              // of phases: where in Plan::phases
  bool limited_ = false;
  bool timed_ = false;
};

}  // namespace terrace::strategy
