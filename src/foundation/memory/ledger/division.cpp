// See division.hpp. Integers alone, but for one quotient of gains: the same in every process.
#include "memory/ledger/division.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace terrace::memory {

namespace {

__extension__ using Wide = unsigned __int128;  // granules (52 bits) by proportions (56 bits)

constexpr std::uint64_t k_whole_gain = 65536;

struct Part {
  std::size_t of;            // which demand
  std::uint64_t proportion;  // not 0
  std::uint64_t most;        // granules
  std::uint64_t fraction;    // of a granule that rounding takes away, by the sum of the proportions
};

bool is_known(const LedgerDemand& demand) noexcept { return std::isfinite(demand.gain) && demand.gain >= 0; }

// Of each demand's gain in relation to the largest.
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
    if (largest_ <= 0) return k_whole_gain;  // all of them gain nothing
    return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(gain / largest_ * double{k_whole_gain}));
  }

  double largest_ = 0;
  std::uint64_t mean_ = k_whole_gain;
};

}  // namespace

void divide(std::uint64_t budget, std::uint64_t granule, std::span<const LedgerDemand> demands,
            std::span<std::uint64_t> shares) noexcept {
  std::array<Part, k_ledger_slots> room;
  std::size_t count = 0;
  auto left = budget / granule;
  std::uint64_t proportions = 0;
  const Gains gains(demands);
  for (std::size_t i = 0; i < demands.size(); ++i) {
    shares[i] = 0;
    const auto& demand = demands[i];
    if (demand.weight == 0 || count == room.size()) continue;
    const auto proportion = gains.of(demand) * demand.weight;
    room[count++] = {i, proportion, std::min(demand.quota / granule, left), 0};
    proportions += proportion;
  }
  const std::span parts(room.data(), count);
  // Those whose quota is reached first come first.
  std::ranges::sort(parts, [](const Part& a, const Part& b) {
    const auto x = Wide{a.most} * b.proportion;
    const auto y = Wide{b.most} * a.proportion;
    return x != y ? x < y : a.of < b.of;
  });
  std::size_t next = 0;
  for (; next < count; ++next) {
    const auto& part = parts[next];
    if (Wide{part.most} * proportions > Wide{left} * part.proportion) break;
    shares[part.of] = part.most * granule;
    left -= part.most;
    proportions -= part.proportion;
  }
  const auto rest = parts.subspan(next);
  if (rest.empty()) return;
  auto unrounded = left;
  for (auto& part : rest) {
    const auto exact = Wide{left} * part.proportion;
    const auto whole = static_cast<std::uint64_t>(exact / proportions);
    part.fraction = static_cast<std::uint64_t>(exact % proportions);
    shares[part.of] = whole * granule;
    unrounded -= whole;
  }
  std::ranges::sort(rest, [](const Part& a, const Part& b) {
    return a.fraction != b.fraction ? a.fraction > b.fraction : a.of < b.of;
  });
  for (std::size_t i = 0; i < unrounded; ++i) shares[rest[i].of] += granule;
}

}  // namespace terrace::memory
