// Tests the gauges against Prometheus' text format, and the lifetime of their file.
#include "cli/gauges.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "core/error.hpp"

namespace terrace::cli {
namespace {

memory::LedgerView a_view() {
  memory::LedgerView view;
  view.job = "a\"b\\c\nd";
  view.places = {{"hbm0", 1000}, {"ddr0", 2000}};
  view.processes = {{17, {{600, 100, 500}, {0, 0, std::nullopt}}},
                    {18, {{std::nullopt, std::nullopt, 500}, {7, 0, {}}}}};
  view.unknown_processes = 1;
  return view;
}

TEST(GaugeExporter, Format_HasHelpTypeAndEscapedLabels) {
  EXPECT_EQ(format_gauges({a_view()}),
            R"(# HELP terrace_ledger_budget_bytes Bytes of a place that the job may hold on this node.
# TYPE terrace_ledger_budget_bytes gauge
terrace_ledger_budget_bytes{job="a\"b\\c\nd",place="hbm0"} 1000
terrace_ledger_budget_bytes{job="a\"b\\c\nd",place="ddr0"} 2000
# HELP terrace_ledger_held_bytes Bytes of a place that a process holds.
# TYPE terrace_ledger_held_bytes gauge
terrace_ledger_held_bytes{job="a\"b\\c\nd",place="hbm0",process="17"} 600
terrace_ledger_held_bytes{job="a\"b\\c\nd",place="ddr0",process="17"} 0
terrace_ledger_held_bytes{job="a\"b\\c\nd",place="ddr0",process="18"} 7
# HELP terrace_ledger_outstanding_bytes Bytes that a process holds and has not populated yet.
# TYPE terrace_ledger_outstanding_bytes gauge
terrace_ledger_outstanding_bytes{job="a\"b\\c\nd",place="hbm0",process="17"} 100
terrace_ledger_outstanding_bytes{job="a\"b\\c\nd",place="ddr0",process="17"} 0
terrace_ledger_outstanding_bytes{job="a\"b\\c\nd",place="ddr0",process="18"} 0
# HELP terrace_ledger_share_bytes Bytes of a place that are divided to a process which stated a demand.
# TYPE terrace_ledger_share_bytes gauge
terrace_ledger_share_bytes{job="a\"b\\c\nd",place="hbm0",process="17"} 500
terrace_ledger_share_bytes{job="a\"b\\c\nd",place="hbm0",process="18"} 500
# HELP terrace_ledger_unknown_processes Slots that a stray write has destroyed.
# TYPE terrace_ledger_unknown_processes gauge
terrace_ledger_unknown_processes{job="a\"b\\c\nd"} 1
)");
}

TEST(GaugeExporter, File_ExistsWhileTheJobRuns) {
  const auto path = std::filesystem::temp_directory_path() / ("gauges-" + std::to_string(::getpid()) + ".prom");
  const auto views = [] { return std::vector{a_view()}; };
  {
    const GaugeExporter gauges(path, views);
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    EXPECT_EQ(text.str(), format_gauges(views()));
  }
  EXPECT_FALSE(std::filesystem::exists(path));
  const GaugeExporter none("", views);
}

TEST(GaugeExporter, FileOfAnotherKind_IsNotReplaced) {
  const auto folder = std::filesystem::temp_directory_path() / ("gauges-of-others-" + std::to_string(::getpid()));
  std::filesystem::create_directory(folder);
  const auto views = [] { return std::vector{a_view()}; };
  const auto refused = [&](const std::string& name, const std::string& why) {
    try {
      const GaugeExporter gauges(folder / name, views);
      ADD_FAILURE() << name << " was taken";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::invalid);
      EXPECT_NE(std::string(error.what()).find(why), std::string::npos) << error.what();
    }
  };
  refused("results.csv", "has to end in .prom");
  refused("prom", "has to end in .prom");
  refused("nowhere/job.prom", "nowhere/job.prom: there is no folder ");
  for (const auto* const text : {"", "# HELP node_load1 1m load average.\n", "terrace"}) {
    const auto path = folder / "others.prom";
    std::ofstream(path) << text;
    refused("others.prom", "this file exists");
    std::ostringstream left;
    left << std::ifstream(path).rdbuf();
    EXPECT_EQ(left.str(), text);
  }
  // A file left by a killed launcher is replaced.
  std::ofstream(folder / "job.prom") << format_gauges({});
  { const GaugeExporter gauges(folder / "job.prom", views); }
  EXPECT_FALSE(std::filesystem::exists(folder / "job.prom"));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace terrace::cli
