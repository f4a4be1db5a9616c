// Estimates measured figures from many short windows of a fixed amount of work. Other load lengthens a window, so
// that short windows are the best estimate of a time, and high rates that of a bandwidth. The very shortest are
// not: on a virtual machine one of a hundred windows reads memory a third faster than the rest, and in another
// measurement none does. So the best is what the shortest tenth does not exceed: in six measurements of an idle
// virtual machine it agreed within 7 % for one thread, the minimum within 34 %. A window is clean if no measuring
// thread was preempted in it. Pure: no clock, no threads. Not thread-safe.
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
  double value = 0;   // seconds for each unit of the work
  bool clean = true;  // no measuring thread was preempted, and the workers shared a cache where they should
  std::size_t round = 0;
  bool apart = false;  // not clean for the second reason alone
};

// Returns the clean windows, or all of them where fewer than k_min_clean are clean.
std::vector<Window> usable_windows(std::span<const Window> windows);
inline constexpr std::size_t k_min_clean = 3;

// The best is the value that this share of the usable windows does not exceed.
inline constexpr double k_best_share = 0.1;

// Returns the best, the median, and the largest less the least of the usable windows. Requires at least one
// window.
Spread spread_of_windows(std::span<const Window> windows);
// Returns the same for rates: `work` divided by each window.
Spread rates_of_windows(std::span<const Window> windows, double work);

// Returns true if the best is no accident: at least k_min_confirming clean windows are within a part `within` of
// it, from more than one round, and at least one in k_typical_share of all clean ones a part
// k_refused_beyond. What varies more although nothing interrupted it has several states, of which another
// measurement may find another one.
bool is_confirmed(std::span<const Window> windows, double within);
inline constexpr std::size_t k_min_confirming = 3;
inline constexpr std::size_t k_typical_share = 4;
inline constexpr double k_confirmed_within = 0.05;  // figures beyond are measured again while there is time
inline constexpr double k_refused_beyond = 0.15;    // what a figure may be off; beyond, no file is made

// The windows of all figures of a group over all rounds, by name.
class Figures {
 public:
  using Sample = std::function<std::vector<Window>()>;

  // Begins the next round: over all figures, or over those that are named and those without windows.
  void begin_round(std::optional<std::set<std::string>> only = {});
  // Asks `may_measure` before each measurement of a figure that has windows, and calls it before those of others.
  // It may throw.
  void ask_before_each(std::function<bool()> may_measure) { may_measure_ = std::move(may_measure); }
  // Measures the figure in this round and returns the spread over all rounds so far.
  Spread sample(const std::string& name, const Sample& sample);
  [[nodiscard]] std::span<const Window> windows(const std::string& name) const { return all_.at(name); }
  // Returns the names of the figures that is_confirmed() does not hold for.
  [[nodiscard]] std::vector<std::string> unconfirmed(double within) const;
  // Returns the share of all windows in which a measuring thread was preempted; 0 without windows.
  [[nodiscard]] double interrupted_share() const;
  [[nodiscard]] std::size_t count_apart() const { return count(&Window::apart); }

 private:
  [[nodiscard]] std::size_t count(bool Window::*what) const;

  std::map<std::string, std::vector<Window>> all_;
  std::size_t round_ = 0;
  std::optional<std::set<std::string>> only_;
  std::function<bool()> may_measure_ = [] { return true; };
};

}  // namespace terrace::machine
