// SPDX-License-Identifier: Apache-2.0
// Chooses the functions to probe in an uninstrumented program, by samples and by calls. Called by the agent's
// FunctionEntryMonitor. See probe_choice.hpp.
#include "runtime/probe_choice.hpp"

#include <algorithm>
#include <utility>

namespace terrace::runtime {

std::vector<std::uint64_t> hot_functions(const std::map<std::uint64_t, std::uint64_t>& samples) {
  std::uint64_t all = 0;
  for (const auto& [function, count] : samples) all += count;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> hot;
  for (const auto& [function, count] : samples)
    if (function != 0 && static_cast<double>(count) >= k_min_sample_share * static_cast<double>(all))
      hot.emplace_back(count, function);
  std::ranges::stable_sort(hot, std::ranges::greater{}, &std::pair<std::uint64_t, std::uint64_t>::first);
  if (hot.size() > k_max_probed) hot.resize(k_max_probed);
  std::vector<std::uint64_t> functions;
  for (const auto& [count, function] : hot) functions.push_back(function);
  return functions;
}

std::vector<std::uint32_t> called_too_often(const std::vector<std::uint64_t>& calls, double seconds) {
  std::vector<std::uint32_t> order(calls.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::stable_sort(order, {}, [&](std::uint32_t i) { return calls[i]; });
  std::vector<std::uint32_t> dropped;
  double total_rate = 0;
  for (const auto i : order) {
    const auto rate = static_cast<double>(calls[i]) / seconds;
    if (rate > k_max_call_rate || total_rate + rate > k_max_total_rate)
      dropped.push_back(i);
    else
      total_rate += rate;
  }
  std::ranges::sort(dropped);
  return dropped;
}

}  // namespace terrace::runtime
