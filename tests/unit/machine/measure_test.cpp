// Measuring: every path gets numbers with their repetitions, and what was measured survives being written down.
// Nothing here compares times with a wall clock's expectations; laws that hold on any machine are checked.
#include "machine/measure.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.hpp"
#include "machine/measured_rounds.hpp"
#include "machine/system_files.hpp"

namespace terrace::machine {
namespace {

TEST(SpreadOf, IsMedianAndRange) {
  EXPECT_EQ(spread_of({3, 1, 2}).median, 2);
  EXPECT_EQ(spread_of({3, 1, 2}).spread, 2);
  EXPECT_EQ(spread_of({4, 1, 2, 9}).median, 3);
  EXPECT_EQ(spread_of({5}).spread, 0);
}

TEST(Measure, FillsEveryPathAndSurvivesBeingWritten) {
  const auto here = discover_details();
  std::vector<double> progress;
  std::vector<std::string> steps;
  const auto file =
      measure_machine(here, {.quick = true, .repetitions = 1}, [&](double done, std::string_view what) {
        progress.push_back(done);
        steps.emplace_back(what);
      });
  const auto& machine = file.machine;
  const auto& measured = *file.measured;

  EXPECT_TRUE(std::is_sorted(progress.begin(), progress.end()));
  EXPECT_EQ(progress.front(), 0);
  EXPECT_EQ(progress.back(), 1);
  EXPECT_LT(progress[progress.size() - 2], 1);
  EXPECT_GE(steps.size(), 4u);

  EXPECT_EQ(machine.parts().fingerprint, fingerprint(here));
  EXPECT_NO_THROW(check_fingerprint(machine, here));
  EXPECT_EQ(measured.date.size(), 20u);
  EXPECT_EQ(measured.repetitions, 1u);

  // The nearest place of the first domain: all six kernels at one thread, both kinds of pages, and the path holds
  // what was measured.
  const auto initiator = machine.domains()[0].initiator;
  const auto place = here.machine.domains()[0].places.front();
  double best_read = 0;
  for (const char* kernel : {"copy", "scale", "add", "triad", "read", "write"}) {
    const auto rows = std::count_if(measured.bandwidths.begin(), measured.bandwidths.end(), [&](const auto& row) {
      return row.initiator == initiator && row.place == place && row.kernel == kernel && row.threads == 1 &&
             row.bytes_per_second.median > 0;
    });
    EXPECT_EQ(rows, 1) << kernel;
  }
  for (const auto& row : measured.bandwidths) {
    if (row.initiator == initiator && row.place == place && row.kernel == "read") {
      best_read = std::max(best_read, row.bytes_per_second.median);
    }
  }
  // The directions overlap: neither is slower than alone.
  EXPECT_GE(machine.path(initiator, place).read.value, best_read * (1 - 1e-12));
  // Of the pages that programs get which ask for none.
  const auto setting = SystemFiles().choice("/sys/kernel/mm/transparent_hugepage/enabled");
  const std::string ordinary = setting == "always" ? "huge" : "small";
  const auto latency = std::find_if(measured.latencies.begin(), measured.latencies.end(),
                                    [&](const auto& row) { return row.place == place && row.pages == ordinary; });
  ASSERT_NE(latency, measured.latencies.end());
  EXPECT_EQ(machine.path(initiator, place).latency.value, latency->seconds.median);
  // Beside the other cores' reading, at rising paces; nothing where there is no other core.
  const auto loaded = std::count_if(measured.latencies.begin(), measured.latencies.end(), [&](const auto& row) {
    return row.initiator == initiator && row.place == place && row.load > 0 && row.seconds.median > 0;
  });
  EXPECT_EQ(loaded, machine.initiators()[initiator].cores > 1 ? 5 : 0);

  // A miss cannot be cheaper than a hit in the cache nearest to the core.
  const auto& core = machine.initiators()[initiator];
  if (!core.caches.empty()) {
    EXPECT_GT(machine.path(initiator, place).latency, core.caches.front().latency);
  }
  EXPECT_GE(core.mlp, 1);
  for (const auto time : core.library) EXPECT_GT(time.value, 0);
  EXPECT_GE(core.prefetch_mlp, 1);
  EXPECT_GE(core.window, 10);  // the nearest misses that are tried
  EXPECT_LE(core.window, 1024);

  const auto text = format_machine_file(machine, &measured);
  const auto again = parse_machine_file(text, "again");
  EXPECT_EQ(format_machine_file(again.machine, &*again.measured), text);
}

TEST(Measure, SaysWhyTheNearestPlaceCannotBeMeasured) {
  auto here = discover_details();
  here.last_level.assign(here.last_level.size(), Bytes{1ull << 60});  // no memory exceeds such caches
  try {
    measure_machine(here, {.quick = true, .repetitions = 1});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::failed);
    EXPECT_NE(std::string(error.what()).find("too little to measure memory and not caches"), std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace terrace::machine
