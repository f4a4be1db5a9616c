// Tests of C-AMAT's counters against published and hand-computed examples, and against cycle-by-cycle counting.
#include "model/camat/camat.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <vector>

namespace terrace::model {
namespace {

struct Access {
  std::uint64_t begin = 0;
  std::uint64_t hit_cycles = 0;
  std::uint64_t penalty = 0;  // 0: a hit
};

constexpr auto k_whole = ~std::uint64_t{0};

// Reference by the definitions: evaluates each cycle of each access before `until`.
CamatCounters count_cycle_by_cycle(const std::vector<Access>& accesses, std::uint64_t until = k_whole) {
  std::map<std::uint64_t, std::uint64_t> looking_up;
  std::map<std::uint64_t, std::vector<std::size_t>> waiting;
  std::set<std::uint64_t> active;
  CamatCounters counters;
  for (std::size_t i = 0; i < accesses.size(); ++i) {
    const auto& access = accesses[i];
    const auto hit_end = access.begin + access.hit_cycles;
    const auto end = std::min(until, hit_end + access.penalty);
    if (access.begin >= until) continue;
    for (auto cycle = access.begin; cycle < std::min(until, hit_end); ++cycle) ++looking_up[cycle];
    for (auto cycle = hit_end; cycle < end; ++cycle) waiting[cycle].push_back(i);
    for (auto cycle = access.begin; cycle < end; ++cycle) active.insert(cycle);
    ++counters.accesses;
    if (access.penalty != 0) ++counters.misses;
  }
  for (const auto& [cycle, count] : looking_up) {
    ++counters.hit_cycles;
    counters.hit_access_cycles += count;
  }
  std::vector<bool> is_pure(accesses.size());
  for (const auto& [cycle, misses] : waiting) {
    if (looking_up.contains(cycle)) continue;
    ++counters.pure_miss_cycles;
    counters.pure_access_cycles += misses.size();
    for (const auto i : misses) is_pure[i] = true;
  }
  counters.active_cycles = active.size();
  counters.pure_misses = static_cast<std::uint64_t>(std::count(is_pure.begin(), is_pure.end(), true));
  return counters;
}

// Returns the counters up to each of `cuts`, and finally in total.
std::vector<CamatCounters> count_up_to(const std::vector<Access>& accesses,
                                       const std::vector<std::uint64_t>& cuts) {
  struct Event {
    std::uint64_t at = 0;
    bool begins = false;
    std::size_t access = 0;
  };
  std::vector<Event> events;
  for (std::size_t i = 0; i < accesses.size(); ++i) {
    events.push_back({accesses[i].begin, true, i});
    if (accesses[i].penalty != 0)
      events.push_back({accesses[i].begin + accesses[i].hit_cycles + accesses[i].penalty, false, i});
  }
  std::stable_sort(events.begin(), events.end(), [](const auto& a, const auto& b) { return a.at < b.at; });
  CamatMeter meter;
  std::vector<CamatMeter::Miss> misses(accesses.size());
  std::uint64_t end = 0;
  std::vector<CamatCounters> counted;
  const auto cut_before = [&](std::uint64_t at) {
    while (counted.size() < cuts.size() && cuts[counted.size()] <= at)
      counted.push_back(meter.counters_at(cuts[counted.size()]));
  };
  for (const auto& event : events) {
    cut_before(event.at);
    const auto& access = accesses[event.access];
    end = std::max(end, access.begin + access.hit_cycles + access.penalty);
    if (!event.begins)
      meter.end_miss(misses[event.access], event.at);
    else if (access.penalty == 0)
      meter.add_hit(event.at, access.hit_cycles);
    else
      misses[event.access] = meter.add_miss(event.at, access.hit_cycles);
  }
  cut_before(end);
  counted.push_back(meter.counters_at(std::max(end, cuts.empty() ? 0 : cuts.back())));
  return counted;
}

CamatCounters count(const std::vector<Access>& accesses) { return count_up_to(accesses, {}).back(); }

void expect_equal(const CamatCounters& a, const CamatCounters& b) {
  EXPECT_EQ(a.accesses, b.accesses);
  EXPECT_EQ(a.misses, b.misses);
  EXPECT_EQ(a.pure_misses, b.pure_misses);
  EXPECT_EQ(a.hit_cycles, b.hit_cycles);
  EXPECT_EQ(a.hit_access_cycles, b.hit_access_cycles);
  EXPECT_EQ(a.pure_miss_cycles, b.pure_miss_cycles);
  EXPECT_EQ(a.pure_access_cycles, b.pure_access_cycles);
  EXPECT_EQ(a.active_cycles, b.active_cycles);
}

// The paper's figure 3 gives hits, misses and penalties of ten accesses of two cycles, but not their begins: these
// begins reproduce all numbers of its text.
TEST(Camat, PublishedExample_Matches) {
  const std::vector<Access> accesses{{1, 2, 0}, {5, 2, 3},  {5, 2, 0},  {6, 2, 3},  {8, 2, 0},
                                     {8, 2, 7}, {11, 2, 3}, {11, 2, 0}, {11, 2, 7}, {13, 2, 3}};
  const auto counters = count(accesses);
  EXPECT_EQ(counters.accesses, 10U);
  EXPECT_EQ(counters.active_cycles, 17U);
  EXPECT_EQ(counters.hit_access_cycles, 20U);
  EXPECT_EQ(counters.hit_cycles, 11U);
  EXPECT_EQ(counters.pure_access_cycles, 13U);
  EXPECT_EQ(counters.pure_miss_cycles, 6U);
  EXPECT_EQ(counters.pure_misses, 5U);
  const auto camat = camat_of(counters);
  EXPECT_DOUBLE_EQ(camat.value, 17.0 / 10);
  EXPECT_DOUBLE_EQ(camat.hit_concurrency, 20.0 / 11);
  EXPECT_DOUBLE_EQ(camat.miss_concurrency, 13.0 / 6);
  EXPECT_DOUBLE_EQ(camat.pure_miss_penalty, 13.0 / 5);
  EXPECT_DOUBLE_EQ(camat.pure_miss_ratio, 5.0 / 10);
  EXPECT_DOUBLE_EQ(camat.from_components(), camat.value);
}

// Counted by hand: A1 and A2 begin in cycle 1, A3 and A4 in cycle 2; A1 misses in cycles 3 to 10, A3 in 4 to 10,
// A4 in 4 to 7; A2 hits. In cycle 3 two accesses are in their hit phase, so it is no pure-miss cycle.
TEST(Camat, HandComputedExample_Matches) {
  const auto counters = count({{1, 2, 8}, {1, 2, 0}, {2, 2, 7}, {2, 2, 4}});
  EXPECT_EQ(counters.active_cycles, 10U);
  EXPECT_EQ(counters.hit_cycles, 3U);
  EXPECT_EQ(counters.pure_miss_cycles, 7U);
  EXPECT_EQ(counters.pure_misses, 3U);
  EXPECT_DOUBLE_EQ(camat_of(counters).value, 2.5);
  EXPECT_DOUBLE_EQ(camat_of(counters).from_components(), 2.5);
}

// Repeats it, divided before cycle 6. All misses have waited before that, so they are pure misses of the first
// interval; the second has cycles without new accesses. The sum equals the total.
TEST(Camat, CountersOfIntervals_AddUp) {
  const auto counted = count_up_to({{1, 2, 8}, {1, 2, 0}, {2, 2, 7}, {2, 2, 4}}, {2, 6});
  const auto& first = counted[0];
  const auto second = counted[1] - counted[0];
  const auto last = counted[2] - counted[1];
  EXPECT_EQ(first.accesses, 2U);
  EXPECT_EQ(first.active_cycles, 1U);
  EXPECT_EQ(first.pure_misses, 0U);
  EXPECT_EQ(second.accesses, 2U);
  EXPECT_EQ(second.hit_cycles, 2U);
  EXPECT_EQ(second.pure_miss_cycles, 2U);
  EXPECT_EQ(second.pure_misses, 3U);
  EXPECT_EQ(last.accesses, 0U);
  EXPECT_EQ(last.pure_misses, 0U);
  EXPECT_EQ(last.active_cycles, 5U);
  EXPECT_DOUBLE_EQ(camat_of(last).value, 0);
  auto all = first;
  all += second;
  all += last;
  expect_equal(all, count({{1, 2, 8}, {1, 2, 0}, {2, 2, 7}, {2, 2, 4}}));
}

TEST(Camat, RandomAccesses_EqualCycleByCycleCount) {
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    std::vector<Access> accesses;
    std::uint64_t at = 0;
    const auto hit_cycles = 1 + random() % 5;
    for (int i = 0; i < 60; ++i) {
      at += random() % (round % 2 == 0 ? 3 : 20);
      // Includes hit phases of different lengths.
      accesses.push_back(
          {at, round % 3 == 0 ? 1 + random() % 9 : hit_cycles, random() % 2 == 0 ? 0 : random() % 40});
    }
    SCOPED_TRACE(round);
    const auto counters = count(accesses);
    expect_equal(counters, count_cycle_by_cycle(accesses));
    EXPECT_EQ(counters.hit_cycles + counters.pure_miss_cycles, counters.active_cycles);
    std::vector<std::uint64_t> cuts;
    for (std::uint64_t cut = random() % 9; cut <= at; cut += 1 + random() % 60) cuts.push_back(cut);
    const auto counted = count_up_to(accesses, cuts);
    for (std::size_t i = 0; i < cuts.size(); ++i)
      expect_equal(counted[i], count_cycle_by_cycle(accesses, cuts[i]));
    const auto camat = camat_of(counters);
    EXPECT_NEAR(camat.from_components(), camat.value, 1e-12 * camat.value);
  }
}

// The access merges with a miss whose data arrive before the end of its own hit phase.
TEST(Camat, MissEndingInHitPhase_IsNotPure) {
  CamatMeter meter;
  const auto first = meter.add_miss(0, 4);
  const auto merged = meter.add_miss(8, 4);
  meter.end_miss(first, 10);
  meter.end_miss(merged, 10);
  const auto counters = meter.counters_at(20);
  EXPECT_EQ(counters.misses, 2U);
  EXPECT_EQ(counters.pure_misses, 1U);
  EXPECT_EQ(counters.hit_cycles, 8U);
  EXPECT_EQ(counters.pure_miss_cycles, 4U);
}

// Two caches with very different traffic: the combined ratio is not the mean of their ratios.
TEST(Camat, CountersOfCaches_AddUp) {
  const auto busy = count({{0, 1, 0}, {1, 1, 0}, {2, 1, 0}, {3, 1, 0}});
  const auto slow = count({{0, 1, 99}});
  auto both = busy;
  both += slow;
  EXPECT_DOUBLE_EQ(camat_of(both).value, 104.0 / 5);
  expect_equal(both - slow, busy);
}

}  // namespace
}  // namespace terrace::model
