// SPDX-License-Identifier: Apache-2.0
// Sums and subtracts C-AMAT counters (concurrent average memory access time) of all cache levels, and collects
// those of intervals. The simulator calls it. See camat_levels.hpp.
#include "gpu_sim/engine/camat_levels.hpp"

#include <utility>

namespace terrace::gpu_sim {
namespace {

constexpr auto k_levels = {&CamatLevels::l1_by_warp, &CamatLevels::l1_by_part, &CamatLevels::l2,
                           &CamatLevels::dram};

}  // namespace

CamatLevels CamatLevels::operator-(const CamatLevels& earlier) const {
  auto left = *this;
  for (const auto level : k_levels)
    for (std::size_t i = 0; i < (earlier.*level).size(); ++i)
      (left.*level)[i] = (left.*level)[i] - (earlier.*level)[i];
  return left;
}

CamatLevels& CamatLevels::operator+=(const CamatLevels& other) {
  for (const auto level : k_levels) {
    (this->*level).resize((other.*level).size());
    for (std::size_t i = 0; i < (other.*level).size(); ++i) (this->*level)[i] += (other.*level)[i];
  }
  return *this;
}

model::CamatCounters camat_sum(const std::vector<model::CamatCounters>& level) {
  model::CamatCounters sum;
  for (const auto& counters : level) sum += counters;
  return sum;
}

void CamatIntervals::end_interval(std::string kernel, Cycle at, CamatLevels counted) {
  const auto begin = last_end();
  parts_.push_back({std::move(kernel), begin, at, counted - before_});
  before_ = std::move(counted);
}

void CamatIntervals::end_rest(Cycle at, const CamatLevels& counted) {
  if (at > last_end() || counted != before_) end_interval("", at, counted);
}

}  // namespace terrace::gpu_sim
