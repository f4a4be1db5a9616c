// Estimates of measured figures from many short windows of a fixed amount of work. Other load only ever lengthens
// a window, so that the shortest window is the best estimate of a time, and the highest rate of a bandwidth. A
// window counts first if no measuring thread was preempted in it. Pure: no clock, no threads. Not thread-safe.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "machine/file/machine_file.hpp"

namespace terrace::machine {

struct Window {
  double value = 0;   // seconds for each unit of the work
  bool clean = true;  // no measuring thread was preempted
  std::size_t round = 0;
};

// Returns the clean windows, or all of them where fewer than k_min_clean are clean.
std::vector<Window> usable_windows(std::span<const Window> windows);
inline constexpr std::size_t k_min_clean = 3;

// Returns the least, the median, and the largest less the least of the usable windows. Requires at least one
// window.
Spread spread_of_windows(std::span<const Window> windows);
// Returns the same for rates, where the best is the highest: `work` divided by each window.
Spread rates_of_windows(std::span<const Window> windows, double work);

// Returns true if the best is no accident: at least k_min_confirming usable windows are at most a part `within`
// above it, from more than one round.
bool is_confirmed(std::span<const Window> windows, double within);
inline constexpr std::size_t k_min_confirming = 3;
inline constexpr double k_confirmed_within = 0.05;  // figures beyond are measured again while there is time
inline constexpr double k_refused_beyond = 0.15;    // what a figure may be off; beyond, no file is made

// The windows of all figures of a group over all rounds, by name.
class Figures {
 public:
  using Sample = std::function<std::vector<Window>()>;

  // Begins the next round over all figures. With `only_unconfirmed`, sample() measures no confirmed figure again.
  void begin_round(bool only_unconfirmed);
  // Makes the next round measure confirmed figures, too: some of them contradict one another.
  void begin_again() { again_ = true; }
  // Makes sample() measure nothing more until the next round: the time is up.
  void stop_sampling() { stopped_ = true; }
  // Measures the figure in this round and returns the spread over all rounds so far.
  Spread sample(const std::string& name, const Sample& sample);
  [[nodiscard]] std::span<const Window> windows(const std::string& name) const { return all_.at(name); }
  // Returns the names of the figures that is_confirmed() does not hold for.
  [[nodiscard]] std::vector<std::string> unconfirmed(double within) const;
  // Returns the share of all windows that are clean; 1 without windows.
  [[nodiscard]] double clean_share() const;

 private:
  std::map<std::string, std::vector<Window>> all_;
  std::size_t round_ = 0;
  bool only_unconfirmed_ = false;
  bool again_ = false;
  bool stopped_ = false;
};

}  // namespace terrace::machine
