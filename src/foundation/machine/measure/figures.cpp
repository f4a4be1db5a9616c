// SPDX-License-Identifier: Apache-2.0
// Computes the best, median and range of a figure (a measured time or rate) from its windows, and whether the best
// is reproducible, for `terrace machine measure`. See figures.hpp.
#include "machine/measure/figures.hpp"

#include <algorithm>
#include <iterator>
#include <set>

namespace terrace::machine {

namespace {

std::vector<Window> clean_windows(std::span<const Window> windows) {
  std::vector<Window> clean;
  std::ranges::copy_if(windows, std::back_inserter(clean), &Window::clean);
  return clean;
}

// Returns the value that the shortest k_best_share of the windows do not exceed. Requires at least one window.
double best_of(std::vector<Window> windows) {
  const auto nth = static_cast<std::size_t>(k_best_share * static_cast<double>(windows.size() - 1));
  std::ranges::nth_element(windows, windows.begin() + static_cast<std::ptrdiff_t>(nth), {}, &Window::value);
  return windows[nth].value;
}

}  // namespace

std::vector<Window> usable_windows(std::span<const Window> windows) {
  auto clean = clean_windows(windows);
  if (clean.size() >= k_min_clean) return clean;
  return {windows.begin(), windows.end()};
}

Spread spread_of_windows(std::span<const Window> windows) {
  auto usable = usable_windows(windows);
  std::ranges::sort(usable, {}, &Window::value);
  const auto n = usable.size();
  const double median = n % 2 == 1 ? usable[n / 2].value : (usable[n / 2 - 1].value + usable[n / 2].value) / 2;
  return {median, usable.back().value - usable.front().value, best_of(usable)};
}

Spread rates_of_windows(std::span<const Window> windows, double work) {
  std::vector<Window> rates(windows.begin(), windows.end());
  for (auto& window : rates) window.value = work / window.value;
  auto spread = spread_of_windows(rates);
  spread.best = work / best_of(usable_windows(windows));
  return spread;
}

bool is_confirmed(std::span<const Window> windows, double within) {
  const auto clean = clean_windows(windows);
  if (clean.empty()) return false;
  const double best = best_of(clean);
  std::set<std::size_t> rounds;
  std::size_t near = 0, typical = 0;
  for (const auto& window : clean) {
    if (window.value <= (1 + k_refused_beyond) * best) ++typical;
    if (window.value > (1 + within) * best || (1 + within) * window.value < best) continue;
    ++near;
    rounds.insert(window.round);
  }
  return near >= k_min_confirming && rounds.size() > 1 && k_typical_share * typical >= clean.size();
}

void Figures::begin_round(std::optional<std::set<std::string>> only) {
  ++round_;
  only_ = std::move(only);
}

// Called for each figure in each round; measures only if this round is to repeat the figure.
Spread Figures::sample(const std::string& name, const Sample& sample) {
  auto& windows = all_[name];
  const bool is_new = windows.empty();
  if ((is_new || !only_ || only_->contains(name)) && (may_measure_() || is_new)) {
    for (auto window : sample()) {
      window.round = round_;
      windows.push_back(window);
    }
  }
  return spread_of_windows(windows);
}

std::vector<std::string> Figures::unconfirmed(double within) const {
  std::vector<std::string> names;
  for (const auto& [name, windows] : all_)
    if (!is_confirmed(windows, within)) names.push_back(name);
  return names;
}

std::size_t Figures::count(bool Window::*what) const {
  std::size_t having = 0;
  for (const auto& [name, windows] : all_)
    having += static_cast<std::size_t>(std::ranges::count_if(windows, what));
  return having;
}

double Figures::interrupted_share() const {
  std::size_t all = 0;
  for (const auto& [name, windows] : all_) all += windows.size();
  const auto whole = count(&Window::clean) + count_without_shared_cache();
  return all == 0 ? 0 : static_cast<double>(all - whole) / static_cast<double>(all);
}

}  // namespace terrace::machine
