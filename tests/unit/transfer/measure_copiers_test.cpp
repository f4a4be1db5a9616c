// Tests of measured copier prices in a machine file: checks relations that hold on any machine, not times.
#include "transfer/measure/measure_copiers.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/rounding.hpp"
#include "machine/copier_price.hpp"
#include "transfer/exchange/userfault.hpp"

namespace terrace::transfer {
namespace {

// Returns this machine without measurements, with paths so fast that only a mover's lines in flight limit its
// copies.
machine::MachineFile described(const machine::Discovered& here) {
  auto parts = here.machine.parts();
  for (auto& path : parts.paths) path = {path.initiator, path.place, {1e15}, {1e15}, {90e-9}};
  parts.copies.clear();
  parts.fingerprint = "f00d";
  machine::Measurement measured;
  measured.date = "2026-01-02T03:04:05Z";
  measured.processor = "p";
  measured.repetitions = 1;
  return {machine::Machine(std::move(parts)), measured};
}

const machine::MeasuredCopier* row_of(const machine::Measurement& measured, const std::string& copier,
                                      const std::string& what, const std::string& pages, Bytes size) {
  const auto found = std::ranges::find_if(measured.copiers, [&](const machine::MeasuredCopier& row) {
    return row.copier == copier && row.what == what && row.pages == pages && row.size == size;
  });
  return found == measured.copiers.end() ? nullptr : &*found;
}

TEST(MeasureCopiers, Copiers_GetPricesConsistentWithTheirMoves) {
  const auto here = machine::discover_details();
  const auto node = [](const machine::Place& place) { return place.numa_node >= 0; };
  if (std::ranges::none_of(here.machine.places(), node)) GTEST_SKIP() << "no place is a NUMA node";
  auto file = described(here);
  std::vector<double> progress;
  measure_copiers(file, here, [&](double done, std::string_view) { progress.push_back(done); });
  EXPECT_EQ(progress.front(), 0);
  EXPECT_EQ(progress.back(), 1);
  EXPECT_TRUE(std::ranges::is_sorted(progress));

  const auto& copiers = file.machine.parts().copiers;
  const auto& measured = *file.measured;
  ASSERT_FALSE(copiers.empty()) << (measured.notes.empty() ? "" : measured.notes.front());
  const bool exchanges = Userfault().is_available();
  EXPECT_EQ(copiers.front().name, exchanges ? "numa_swap" : "numa_move_pages");
  EXPECT_EQ(copiers.size(), exchanges ? 2u : 1u);
  const auto place = file.machine.domains()[0].places.front();
  for (const auto& price : copiers) {
    ASSERT_FALSE(price.pages.empty());
    EXPECT_EQ(price.pages.front().page, Bytes{k_page});
    EXPECT_GE(price.call.value, 0);
    EXPECT_GE(price.threads, 1u);
    // The price reproduces the measured copy rate.
    const bool huge = price.pages.size() > 1;
    const auto* copy = row_of(measured, price.name, "copy", huge ? "huge" : "small", {k_huge_page});
    ASSERT_NE(copy, nullptr);
    const auto rate = copy_rate(file.machine, price, price.threads, 0, place, place);
    EXPECT_NEAR(rate.value * copy->seconds.best / k_huge_page, 1, 1e-9);
    for (const auto size : {64ULL << 10, 512ULL << 10, 2ULL << 20, 8ULL << 20}) {
      const auto* move = row_of(measured, price.name, "move", "small", {size});
      ASSERT_NE(move, nullptr) << size;
      EXPECT_GT(move->seconds.median, 0);
    }
    // Stall of a running thread, if there is a second processor.
    const auto* stall = row_of(measured, price.name, "stall", huge ? "huge" : "small", {k_huge_page});
    ASSERT_EQ(stall != nullptr, here.processors[0].size() > 1);
    EXPECT_EQ(price.stall.value, stall ? stall->seconds.median : 0);
  }
  if (exchanges) {
    EXPECT_EQ(copiers.front().piece, Bytes{k_huge_page});
    const auto* trap = row_of(measured, "numa_swap", "trap", "small", {k_page});
    ASSERT_NE(trap, nullptr);
    EXPECT_EQ(copiers.front().trap.value().value, trap->seconds.best);
  }
  const auto text = machine::format_machine_file(file.machine, &measured);
  const auto again = machine::parse_machine_file(text, "again");
  EXPECT_EQ(again.machine.parts().copiers, copiers);
  EXPECT_EQ(machine::format_machine_file(again.machine, &*again.measured), text);
}

TEST(MeasureCopiers, NoNumaNode_IsNoted) {
  const auto here = machine::discover_details();
  auto file = described(here);
  auto parts = file.machine.parts();
  for (auto& place : parts.places) place.numa_node = -1;
  file.machine = machine::Machine(std::move(parts));
  measure_copiers(file, here);
  EXPECT_TRUE(file.machine.parts().copiers.empty());
  ASSERT_EQ(file.measured->notes.size(), 1u);
  EXPECT_EQ(file.measured->notes.front(), "no place is a NUMA node: the price of moves is not measured");
}

}  // namespace
}  // namespace terrace::transfer
