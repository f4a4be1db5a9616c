// SPDX-License-Identifier: Apache-2.0
// Divides a place's budget by the demands of a job's processes, for the ledger and its display. Computes in
// integers, except for one quotient of gains, so that every process gets the same result. See division.hpp.
#include "memory/ledger/division.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace terrace::memory {

namespace {

__extension__ using Wide = unsigned __int128;  // granules (52 bits) by proportions (56 bits)

constexpr std::uint64_t k_whole_gain = 65536;

struct Claimant {
  std::size_t of;              // index of the demand
  std::uint64_t proportion;    // not 0
  std::uint64_t max_granules;  // granules
  std::uint64_t fraction;      // remainder of rounding down, in 1/sum of proportions
};

bool is_known(const LedgerDemand& demand) noexcept { return std::isfinite(demand.gain) && demand.gain >= 0; }

// Computes each demand's gain relative to the largest, in 1/65536.
class Gains {
 public:
  explicit Gains(std::span<const LedgerDemand> demands) noexcept {
    for (const auto& demand : demands)
      if (demand.weight > 0 && is_known(demand)) largest_ = std::max(largest_, demand.gain);
    std::uint64_t sum = 0;
    std::uint64_t known = 0;
    for (const auto& demand : demands) {
      if (demand.weight == 0 || !is_known(demand)) continue;
      sum += scaled(demand.gain);
      ++known;
    }
    if (known > 0) mean_ = sum / known;
  }
  [[nodiscard]] std::uint64_t of(const LedgerDemand& demand) const noexcept {
    return is_known(demand) ? scaled(demand.gain) : mean_;
  }

 private:
  [[nodiscard]] std::uint64_t scaled(double gain) const noexcept {
    if (largest_ <= 0) return k_whole_gain;  // no demand gains anything
    return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(gain / largest_ * double{k_whole_gain}));
  }

  double largest_ = 0;
  std::uint64_t mean_ = k_whole_gain;
};

}  // namespace

void divide_budget(std::uint64_t budget, std::uint64_t granule, std::span<const LedgerDemand> demands,
                   std::span<std::uint64_t> shares) noexcept {
  std::array<Claimant, k_ledger_slots> storage;
  std::size_t count = 0;
  auto left = budget / granule;
  std::uint64_t proportions = 0;
  const Gains gains(demands);
  for (std::size_t i = 0; i < demands.size(); ++i) {
    shares[i] = 0;
    const auto& demand = demands[i];
    if (demand.weight == 0 || count == storage.size()) continue;
    const auto proportion = gains.of(demand) * demand.weight;
    storage[count++] = {i, proportion, std::min(demand.quota / granule, left), 0};
    proportions += proportion;
  }
  const std::span claimants(storage.data(), count);
  // Sort by quota / proportion: the processes that reach their quota first.
  std::ranges::sort(claimants, [](const Claimant& a, const Claimant& b) {
    const auto x = Wide{a.max_granules} * b.proportion;
    const auto y = Wide{b.max_granules} * a.proportion;
    return x != y ? x < y : a.of < b.of;
  });
  std::size_t next = 0;
  for (; next < count; ++next) {
    const auto& claimant = claimants[next];
    if (Wide{claimant.max_granules} * proportions > Wide{left} * claimant.proportion) break;
    shares[claimant.of] = claimant.max_granules * granule;
    left -= claimant.max_granules;
    proportions -= claimant.proportion;
  }
  const auto rest = claimants.subspan(next);
  if (rest.empty()) return;
  auto unrounded = left;
  for (auto& claimant : rest) {
    const auto exact = Wide{left} * claimant.proportion;
    const auto whole = static_cast<std::uint64_t>(exact / proportions);
    claimant.fraction = static_cast<std::uint64_t>(exact % proportions);
    shares[claimant.of] = whole * granule;
    unrounded -= whole;
  }
  std::ranges::sort(rest, [](const Claimant& a, const Claimant& b) {
    return a.fraction != b.fraction ? a.fraction > b.fraction : a.of < b.of;
  });
  for (std::size_t i = 0; i < unrounded; ++i) shares[rest[i].of] += granule;
}

}  // namespace terrace::memory
