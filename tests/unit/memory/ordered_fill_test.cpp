// Tests ordered fill by one process.
#include "memory/ordered/ordered_fill.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <random>

#include "ordered_fill_fixture.hpp"

namespace terrace::memory {
namespace {

TEST_F(OrderedFillTest, Fill_EachPlaceDownToItsWatermark) {
  std::array<PlaceId, k_places> order{0, 1, 2};
  do {
    std::destroy_at(machine_);
    std::construct_at(machine_);
    Ledger ledger(*shared_.page, whole());
    ModelSystem system(*machine_, 0);
    OrderedFill fill(ledger, system, k_places, k_settings);
    RecordedParts parts;
    const auto first = above_watermark(order[0]);
    const auto second = above_watermark(order[1]);
    const auto size = (first + second + 777) * k_page;
    // Not at the boundary of a batch.
    EXPECT_EQ(fill.fill(k_address + 5 * k_page, size, order, OrderedFill::Content::none, parts).error, 0);
    expect_parts_match_pages(parts, system, k_address + 5 * k_page, size);
    std::uint64_t page = 0;
    for (const auto& [address, place] : system.pages) {
      ASSERT_EQ(place, page < first ? order[0] : page < first + second ? order[1] : order[2]) << "page " << page;
      ++page;
    }
    EXPECT_EQ(ledger.held(order[0]).value, first * k_page);
    EXPECT_EQ(ledger.held(order[2]).value, 777 * k_page);
    for (PlaceId place = 0; place < k_places; ++place) EXPECT_EQ(ledger.outstanding(place).value, 0u);
  } while (std::ranges::next_permutation(order).found);
}

TEST_F(OrderedFillTest, AllAtWatermarks_UsesPlaceWithMostFreeMemory) {
  Ledger ledger(*shared_.page, whole());
  ModelSystem system(*machine_, 0);
  OrderedFill fill(ledger, system, k_places, k_settings);
  const std::array<PlaceId, k_places> order{1, 2, 0};
  std::uint64_t above_watermarks = 0;
  std::uint64_t all = 0;
  for (PlaceId place = 0; place < k_places; ++place) {
    above_watermarks += above_watermark(place);
    all += k_capacities[place];
  }
  RecordedParts parts;
  // The largest place has the most free memory, so it is used next.
  const auto more = 300 * k_page;
  EXPECT_EQ(fill.fill(k_address, above_watermarks * k_page + more, order, OrderedFill::Content::none, parts).error,
            0);
  EXPECT_EQ(pages_on(system, 2), above_watermark(2) + 300);
  // Fill more than all memory: down to the kernel's reserve, and no further.
  RecordedParts rest;
  EXPECT_EQ(fill.fill(2 * k_address, all * k_page, order, OrderedFill::Content::none, rest).error, ENOMEM);
  expect_parts_match_pages(rest, system, 2 * k_address, all * k_page);
  for (PlaceId place = 0; place < k_places; ++place) {
    EXPECT_LE(machine_->peak[place].load(), k_capacities[place] - k_reserved);
    EXPECT_GT(machine_->peak[place].load(), k_capacities[place] - k_reserved - 1);
  }
  EXPECT_EQ(machine_->kills.load(), 0u);
  EXPECT_EQ(machine_->fallbacks.load(), 0u);
}

TEST_F(OrderedFillTest, Budget_IsNotExceeded) {
  auto budget = whole();
  budget[0] = {1000 * k_page};
  Ledger ledger(*shared_.page, budget);
  ModelSystem system(*machine_, 0);
  OrderedFill fill(ledger, system, k_places, k_settings);
  RecordedParts parts;
  const std::array<PlaceId, k_places> order{0, 1, 2};
  EXPECT_EQ(fill.fill(k_address, 3000 * k_page, order, OrderedFill::Content::none, parts).error, 0);
  EXPECT_EQ(pages_on(system, 0), 1000u);
  EXPECT_EQ(pages_on(system, 1), 2000u);
}

// Freed blocks leave their policies in place.
TEST_F(OrderedFillTest, SplitBatch_ResetsOlderPolicy) {
  auto budget = whole();
  budget[0] = {(k_batch / k_page * 3 / 2) * k_page};
  Ledger ledger(*shared_.page, budget);
  ModelSystem system(*machine_, 0);
  OrderedFill fill(ledger, system, k_places, k_settings);
  const std::array<PlaceId, k_places> order{0, 1, 2};
  for (const auto content : {OrderedFill::Content::none, OrderedFill::Content::some}) {
    RecordedParts parts;
    const auto address = k_address * (content == OrderedFill::Content::none ? 1 : 2);
    system.prefer_place(address, 4 * k_batch, 0);
    EXPECT_EQ(fill.fill(address, 4 * k_batch, order, content, parts).error, 0);
    ASSERT_EQ(parts.all.front().place, 0);
    EXPECT_EQ(system.num_policy_overruns, 0);
    EXPECT_TRUE(system.policy.contains(address + 4 * k_batch - k_page));
    for (const auto& part : parts.all) ledger.give(part.place, {part.held});
  }
}

// Nothing is populated beyond all budgets, and an error is reported.
TEST_F(OrderedFillTest, AllBudgetsExhausted_ReportsEnomem) {
  Ledger ledger(*shared_.page, {{1000 * k_page}, {500 * k_page}, {0}});
  ModelSystem system(*machine_, 0);
  OrderedFill fill(ledger, system, k_places, k_settings);
  RecordedParts parts;
  const std::array<PlaceId, k_places> order{0, 1, 2};
  EXPECT_EQ(fill.fill(k_address, 1500 * k_page, order, OrderedFill::Content::none, parts).error, 0);
  EXPECT_EQ(fill.fill(2 * k_address, 100 * k_page, order, OrderedFill::Content::none, parts).error, ENOMEM);
  EXPECT_EQ(system.pages.size(), 1500u);
  // Existing pages stay.
  for (std::uint64_t page = 0; page < 100; ++page) system.touch(3 * k_address + page * k_page, 1);
  EXPECT_EQ(fill.fill(3 * k_address, 100 * k_page, order, OrderedFill::Content::some, parts).error, ENOMEM);
  EXPECT_EQ(pages_on(system, 1), 600u);
  EXPECT_EQ(ledger.held(1).value, 500 * k_page);
}

TEST_F(OrderedFillTest, RefusedPlace_IsSkipped) {
  Ledger ledger(*shared_.page, whole());
  ModelSystem system(*machine_, 0);
  system.refused_place = 0;
  OrderedFill fill(ledger, system, k_places, k_settings);
  RecordedParts parts;
  const std::array<PlaceId, k_places> order{0, 1, 2};
  EXPECT_EQ(fill.fill(k_address, 500 * k_page, order, OrderedFill::Content::none, parts).error, EPERM);
  EXPECT_EQ(pages_on(system, 1), 500u);
  EXPECT_EQ(ledger.held(0).value, 0u);
  EXPECT_EQ(ledger.outstanding(0).value, 0u);
}

TEST_F(OrderedFillTest, PlaceWithoutMemory_IsSkipped) {
  Ledger ledger(*shared_.page, whole());
  ModelSystem system(*machine_, 0, 0);
  OrderedFill fill(ledger, system, k_places, k_settings);
  RecordedParts parts;
  const std::array<PlaceId, k_places> order{2, 1, 0};
  EXPECT_EQ(fill.fill(k_address, 500 * k_page, order, OrderedFill::Content::none, parts).error, 0);
  EXPECT_EQ(pages_on(system, 1), 500u);
}

// Existing pages migrate or stay, absent pages are populated.
TEST_F(OrderedFillTest, ExistingPages_AreMigratedInOrder) {
  std::mt19937 random(11);
  for (int round = 0; round < 40; ++round) {
    std::destroy_at(machine_);
    std::construct_at(machine_);
    SharedPage page;
    Ledger ledger(*page.page, whole());
    ModelSystem system(*machine_, 0);
    const auto count = 1 + random() % 12000;
    for (std::uint64_t i = 0; i < count; ++i) {
      const auto kind = random() % 8;
      if (kind < 3 &&
          SharedPageCounts::sum(machine_->used[kind].load()) < above_watermark(static_cast<PlaceId>(kind)))
        system.touch(k_address + i * k_page, static_cast<PlaceId>(kind));
    }
    OrderedFill fill(ledger, system, k_places, k_settings);
    RecordedParts parts;
    const std::array<PlaceId, k_places> order{0, 1, 2};
    OrderedFill::Outcome outcome;
    std::size_t passes = 0;
    do {
      ASSERT_LE(++passes, k_places);
      for (const auto& part : parts.all)
        if (part.place != k_no_place) ledger.give(part.place, {part.held});
      parts = {};
      outcome = fill.fill(k_address, count * k_page, order, OrderedFill::Content::some, parts);
      ASSERT_EQ(outcome.error, 0);
    } while (outcome.needs_retry);
    expect_parts_match_pages(parts, system, k_address, count * k_page);
    ASSERT_EQ(system.pages.size(), count);
    std::array<std::uint64_t, k_places> on{};
    PlaceId last = 0;
    for (const auto& [address, place] : system.pages) {
      ++on[place];
      ASSERT_GE(place, last) << "the parts are contiguous, in the ordering's order";
      last = place;
    }
    if (last > 0) {
      EXPECT_EQ(on[0], above_watermark(0)) << "the first place is filled to its watermark";
    }
    for (PlaceId place = 0; place < k_places; ++place) {
      EXPECT_EQ(on[place], SharedPageCounts::sum(machine_->used[place].load()));
      EXPECT_EQ(ledger.held(place).value, on[place] * k_page);
      EXPECT_LE(machine_->peak[place].load(), above_watermark(place));
    }
  }
}

}  // namespace
}  // namespace terrace::memory
