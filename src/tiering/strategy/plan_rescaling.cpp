// SPDX-License-Identifier: Apache-2.0
// Aligns the phases of a plan with those of the program by dynamic programming, and fits a placement into a
// budget, for ActivePlan. See plan_rescaling.hpp.
#include "strategy/plan_rescaling.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <map>
#include <numeric>
#include <string_view>

namespace terrace::strategy {
namespace {

struct Name {
  std::string_view stem;
  std::int64_t level = 0;  // below the highest of the same stem
  bool operator==(const Name&) const = default;
};

std::vector<Name> names_of(const std::vector<std::string>& texts) {
  std::vector<Name> names;
  std::map<std::string_view, std::int64_t> highest;
  for (const std::string_view text : texts) {
    const auto last = text.find_last_not_of("0123456789");
    const auto digits = last == std::string_view::npos ? 0 : last + 1;
    std::int64_t number = 0;
    const auto parsed = std::from_chars(text.data() + digits, text.data() + text.size(), number);
    // Without a number, or with one out of range, the whole name is the stem.
    const auto stem = parsed.ec == std::errc() ? text.substr(0, digits) : text;
    names.push_back({stem, number});
    const auto known = highest.try_emplace(stem, number).first;
    known->second = std::max(known->second, number);
  }
  for (auto& name : names) name.level = highest[name.stem] - name.level;
  return names;
}

// Returns the score of a pair. A pair at the same level scores more than two others.
int worth(const Name& a, const Name& b) {
  if (a.stem != b.stem) return 0;
  return a.level == b.level ? 3 : 1;
}

}  // namespace

std::vector<std::optional<std::uint32_t>> match_phases(const std::vector<std::string>& planned,
                                                       const std::vector<std::string>& running) {
  const auto plan = names_of(planned);
  const auto run = names_of(running);
  const auto width = plan.size() + 1;
  // best[r * width + p]: the best score for the program's phases from r and the plan's from p on.
  std::vector<int> best((run.size() + 1) * width, 0);
  for (auto r = run.size(); r-- > 0;) {
    for (auto p = plan.size(); p-- > 0;) {
      auto& here = best[r * width + p];
      here = std::max(best[(r + 1) * width + p], best[r * width + p + 1]);
      if (const auto pair = worth(run[r], plan[p]); pair > 0)
        here = std::max(here, pair + best[(r + 1) * width + p + 1]);
    }
  }
  std::vector<std::optional<std::uint32_t>> matched(run.size());
  for (std::size_t r = 0, p = 0; r < run.size() && p < plan.size();) {
    const auto here = best[r * width + p];
    const auto pair = worth(run[r], plan[p]);
    if (pair > 0 && here == pair + best[(r + 1) * width + p + 1])
      matched[r++] = static_cast<std::uint32_t>(p++);
    else if (here == best[r * width + p + 1])
      ++p;
    else
      ++r;
  }
  return matched;
}

std::vector<bool> chunks_over_budget(const std::vector<PlannedChunk>& away, machine::Budget budget) {
  std::vector<std::size_t> order(away.size());
  std::iota(order.begin(), order.end(), 0);
  const auto density = [&](std::size_t i) {
    return away[i].worth.value / static_cast<double>(std::max<std::uint64_t>(away[i].size.value, 1));
  };
  std::ranges::stable_sort(order, [&](auto a, auto b) { return density(a) > density(b); });
  std::vector<bool> out(away.size(), false);
  for (const auto i : order) {
    auto& room = budget[away[i].place];
    out[i] = away[i].size > room;
    if (!out[i]) room -= away[i].size;
  }
  return out;
}

}  // namespace terrace::strategy
