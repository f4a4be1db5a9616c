// See figures.hpp.
#include "machine/measure/figures.hpp"

#include <algorithm>
#include <iterator>

namespace terrace::machine {

std::vector<Window> usable_windows(std::span<const Window> windows) {
  std::vector<Window> clean;
  std::ranges::copy_if(windows, std::back_inserter(clean), &Window::clean);
  if (clean.size() >= k_min_clean) return clean;
  return {windows.begin(), windows.end()};
}

Spread spread_of_windows(std::span<const Window> windows) {
  auto usable = usable_windows(windows);
  std::ranges::sort(usable, {}, &Window::value);
  const auto n = usable.size();
  const double median = n % 2 == 1 ? usable[n / 2].value : (usable[n / 2 - 1].value + usable[n / 2].value) / 2;
  return {median, usable.back().value - usable.front().value, usable.front().value};
}

Spread rates_of_windows(std::span<const Window> windows, double work) {
  std::vector<Window> rates(windows.begin(), windows.end());
  for (auto& window : rates) window.value = work / window.value;
  auto spread = spread_of_windows(rates);
  spread.best += spread.spread;
  return spread;
}

bool is_confirmed(std::span<const Window> windows, double within) {
  const auto usable = usable_windows(windows);
  if (usable.empty()) return false;
  const double limit = (1 + within) * std::ranges::min(usable, {}, &Window::value).value;
  std::size_t near = 0;
  std::size_t first = usable.front().round, last = first;
  for (const auto& window : usable) {
    if (window.value > limit) continue;
    first = near == 0 ? window.round : std::min(first, window.round);
    last = near == 0 ? window.round : std::max(last, window.round);
    ++near;
  }
  return near >= k_min_confirming && last > first;
}

void Figures::begin_round(bool only_unconfirmed) {
  ++round_;
  only_unconfirmed_ = only_unconfirmed && !again_;
  again_ = false;
  stopped_ = false;
}

Spread Figures::sample(const std::string& name, const Sample& sample) {
  auto& windows = all_[name];
  if (windows.empty() || (!stopped_ && !(only_unconfirmed_ && is_confirmed(windows, k_confirmed_within)))) {
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

double Figures::clean_share() const {
  std::size_t clean = 0, count = 0;
  for (const auto& [name, windows] : all_) {
    clean += static_cast<std::size_t>(std::ranges::count_if(windows, &Window::clean));
    count += windows.size();
  }
  return count == 0 ? 1 : static_cast<double>(clean) / static_cast<double>(count);
}

}  // namespace terrace::machine
