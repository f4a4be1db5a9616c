// SPDX-License-Identifier: Apache-2.0
// Estimates the figures (times and rates) of `terrace machine measure` from many short windows, timed intervals
// with a fixed amount of work each. Other load can only lengthen a window, so the shortest windows estimate a time
// best, and the highest rates a bandwidth. The very shortest are outliers, however: on a virtual machine one of a
// hundred windows reads memory a third faster than the rest, and in another measurement none does. So the best is
// defined as the value that the shortest tenth does not exceed. In six measurements of an idle virtual machine it
// agreed within 7 % for one thread, the minimum within 34 %. A window is clean if no measuring thread was
// preempted in it. Pure functions: no clock, no threads. Not thread-safe.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "machine/file/machine_file.hpp"

namespace terrace::machine {

struct Window {
  double value = 0;   // seconds per unit of work
  bool clean = true;  // no measuring thread was preempted, and the workers shared a cache if they should
  std::size_t round = 0;
  bool lacked_shared_cache = false;  // not clean for the second reason only
};

// Returns the clean windows, or all of them if fewer than k_min_clean are clean.
std::vector<Window> usable_windows(std::span<const Window> windows);
inline constexpr std::size_t k_min_clean = 3;

// Share of the usable windows that do not exceed the best.
inline constexpr double k_best_share = 0.1;

// Returns the best, the median, and the range of the usable windows. Requires: at least one window.
Spread spread_of_windows(std::span<const Window> windows);
// Returns them for rates: `work` divided by each window.
Spread rates_of_windows(std::span<const Window> windows, double work);

// Returns whether the best is reproducible: at least k_min_confirming clean windows from more than one round are
// within the relative distance `within` of it, and at least one in k_typical_share of all clean ones within
// k_refused_beyond. A figure that varies more without interruption has several states, and another measurement may
// find another one.
bool is_confirmed(std::span<const Window> windows, double within);
inline constexpr std::size_t k_min_confirming = 3;
inline constexpr std::size_t k_typical_share = 4;
inline constexpr double k_confirmed_within = 0.05;  // figures that vary more are repeated while there is time
inline constexpr double k_refused_beyond = 0.15;    // greatest accepted error; beyond, no machine file is made

// Collects the windows of all figures of a group over all rounds, by name.
class Figures {
 public:
  using Sample = std::function<std::vector<Window>()>;

  // Begins the next round: over all figures, or over those in `only` and those without windows.
  void begin_round(std::optional<std::set<std::string>> only = {});
  // Calls `may_measure` before each measurement. If it returns false, a figure that has windows is not measured
  // again; a figure without windows is measured anyway. It may throw.
  void set_measure_predicate(std::function<bool()> may_measure) { may_measure_ = std::move(may_measure); }
  // Measures the figure in this round and returns the spread over all rounds so far.
  Spread sample(const std::string& name, const Sample& sample);
  [[nodiscard]] std::span<const Window> windows(const std::string& name) const { return all_.at(name); }
  // Returns the names of the figures for which is_confirmed() is false.
  [[nodiscard]] std::vector<std::string> unconfirmed(double within) const;
  // Returns the share of all windows in which a measuring thread was preempted; 0 without windows.
  [[nodiscard]] double interrupted_share() const;
  [[nodiscard]] std::size_t count_without_shared_cache() const { return count(&Window::lacked_shared_cache); }

 private:
  [[nodiscard]] std::size_t count(bool Window::*what) const;

  std::map<std::string, std::vector<Window>> all_;
  std::size_t round_ = 0;
  std::optional<std::set<std::string>> only_;
  std::function<bool()> may_measure_ = [] { return true; };
};

}  // namespace terrace::machine
