// Tests of published predictions, and of the statistics that a policy receives.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "spill_fixture.hpp"

namespace terrace::transfer {
namespace {

std::vector<SpillStatistics> g_measured;  // one for each access; owned by the pager thread until it has ended

// Chooses as the default policy; predicts 0.5 s for each access and reports 1.5 s as measured.
class Sure final : public ReplacementPolicy {
 public:
  bool on_access(ChunkId chunk, std::uint32_t thread, Seconds worked) noexcept override {
    return usual_.on_access(chunk, thread, worked);
  }
  PredictionTotals predicted(const SpillStatistics& measured) noexcept override {
    g_measured.push_back(measured);
    const auto touches = static_cast<double>(g_measured.size());
    return {Seconds{0.5 * touches}, Seconds{1.5 * touches}, g_measured.size() / 2};
  }
  void on_state_change(ChunkId chunk, PageState to) noexcept override { usual_.on_state_change(chunk, to); }
  std::optional<Choice> next_prefetch() noexcept override { return usual_.next_prefetch(); }
  std::optional<ChunkId> next_sentinel() noexcept override { return usual_.next_sentinel(); }
  std::optional<Choice> next_victim() noexcept override { return usual_.next_victim(); }

 private:
  strategy::BeladyPolicy usual_;
};

TEST_P(SpillTest, Prediction_IsPublishedWithMeasurement) {
  constexpr std::size_t k_chunks = 60;
  g_measured.clear();
  memory::RegionSpace space(Bytes{2 * k_chunks * k_chunk}, Bytes{k_chunk});
  SpillCounts counts{};
  Spill::Parts parts;
  parts.base = space.base();
  parts.size = space.reserved().value;
  parts.memory = memory_with(20);
  parts.folder = "/var/tmp";
  parts.counts = &counts;
  parts.make_policy = []() -> std::unique_ptr<ReplacementPolicy> { return std::make_unique<Sure>(); };
  parts.ring = GetParam();
  const auto before = std::chrono::steady_clock::now().time_since_epoch();
  {
    Spill spill(parts);
    auto* const data = static_cast<std::uint64_t*>(space.allocate(k_chunks * k_chunk));
    spill.reserve(reinterpret_cast<std::uint64_t>(data), k_chunks * k_chunk);
    for (std::uint64_t round = 0; round < 3; ++round)
      for (std::size_t c = 0; c < k_chunks; ++c) {
        ASSERT_EQ(data[c * k_words], round);
        data[c * k_words] += 1;
      }
    spill.release(reinterpret_cast<std::uint64_t>(data), k_chunks * k_chunk);
  }
  const auto after = std::chrono::steady_clock::now().time_since_epoch();
  ASSERT_GE(g_measured.size(), 2 * k_chunks);
  EXPECT_EQ(counts.touches, g_measured.size()) << "each touch asks once";
  EXPECT_EQ(counts.predicted, g_measured.size() * 500'000'000);
  EXPECT_EQ(counts.measured, g_measured.size() * 1'500'000'000);
  EXPECT_EQ(counts.segments, g_measured.size() / 2);
  SpillStatistics last;
  last.now = Seconds{1e-9 * static_cast<double>(std::chrono::nanoseconds(before).count())};
  for (const auto& one : g_measured) {
    ASSERT_LE(last.now, one.now);
    ASSERT_LE(last.moved, one.moved);
    ASSERT_LE(last.busy, one.busy);
    ASSERT_LE(last.served, one.served);
    ASSERT_LE(last.serving, one.serving);
    ASSERT_LE(one.unexpected, one.demanded + one.prefetched + 1);
    ASSERT_GE(one.moved, one.written);
    last = one;
  }
  EXPECT_LE(last.now.value, 1e-9 * static_cast<double>(std::chrono::nanoseconds(after).count()));
  EXPECT_GT(last.written, 0U);
  EXPECT_LE(last.written, counts.written / k_chunk);
  EXPECT_LE(last.busy.value, (last.now - g_measured.front().now).value + 1e-3);
  EXPECT_GT(last.busy.value, 0);
}

}  // namespace
}  // namespace terrace::transfer
