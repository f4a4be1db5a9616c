// The search for a repeating sequence of function entries. See phase_finder.hpp.
#include "runtime/phase_finder.hpp"

#include <algorithm>

namespace terrace::runtime {

bool PhaseFinder::watched(Function function) const {
  const auto found = counts_.find(function);
  return found == counts_.end() || found->second <= k_too_often;
}

void PhaseFinder::drop(Function function) {
  if (std::erase(sequence_, function) > 0)
    shortest_ = 1;  // what disproved short periods may have been its entries
}

void PhaseFinder::remember(Function function) {
  constexpr std::size_t limit = std::size_t{k_longest} * (k_repeats + 1);
  sequence_.push_back(function);
  if (sequence_.size() > 2 * limit)
    sequence_.erase(sequence_.begin(), sequence_.end() - static_cast<std::ptrdiff_t>(limit));
}

std::uint32_t PhaseFinder::find_period() const {
  const auto n = static_cast<std::uint32_t>(sequence_.size());
  const auto end = sequence_.end();
  // Whether the last `length` entries repeat what is `p` before them.
  const auto repeats = [&](std::ptrdiff_t p, std::ptrdiff_t length) {
    return std::equal(end - length, end, end - length - p);
  };
  const auto primitive = [&](std::uint32_t p) {
    for (std::uint32_t q = 1; q < p; ++q)
      if (p % q == 0 && repeats(q, p - q)) return false;
    return true;
  };
  for (std::uint32_t p = shortest_; p <= k_longest && p * k_repeats <= n; ++p)
    if (repeats(p, std::ptrdiff_t{p} * (k_repeats - 1)) && primitive(p)) return p;
  return 0;
}

PhaseFinder::Step PhaseFinder::entered(Function function) {
  // A function of the loop that is believed in may be entered for as long as the loop runs.
  if (std::find(period_.begin(), period_.end(), function) == period_.end() && ++counts_[function] > k_too_often) {
    drop(function);
    return {};
  }
  remember(function);
  if (!period_.empty()) {
    if (function == period_[at_]) {
      const auto position = at_;
      at_ = (at_ + 1) % static_cast<std::uint32_t>(period_.size());
      return {position == 0 ? Event::iteration : Event::phase, position};
    }
    shortest_ = static_cast<std::uint32_t>(period_.size()) + 1;
    period_.clear();
    return {Event::broken, 0};
  }
  if (const auto p = find_period()) {
    period_.assign(sequence_.end() - p, sequence_.end());
    at_ = 0;  // this entry ended the third repeat: the next one begins an iteration
  }
  return {};
}

}  // namespace terrace::runtime
