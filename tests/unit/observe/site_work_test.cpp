// Compares the sampled number of instructions with those executed.
#include "observe/pipeline/site_work.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "recording.hpp"

namespace terrace::observe::test {
namespace {

using Instructions = std::map<std::uint64_t, std::uint32_t>;  // by site

// A pipeline whose code has these sites.
class Sites {
 public:
  explicit Sites(Instructions instructions)
      : work_([this, instructions = std::move(instructions)](std::uint64_t site) {
          ++asked;
          return instructions.at(site);
        }) {}
  [[nodiscard]] PipelineConfig config(std::uint64_t quantum = 16384) {
    auto config = small_config();
    config.work = &work_;
    config.quantum_accesses = quantum;
    return config;
  }
  int asked = 0;

 private:
  SiteWorkTable work_;
};

std::uint64_t address_of(const void* at) { return reinterpret_cast<std::uint64_t>(at); }

TEST(SiteWorkTable, SingleSite_CountIsExact) {
  Sites sites(Instructions{{0x401000, 7}});
  Bench bench(1 << 16, sites.config(1000));
  for (int i = 0; i < 12345; ++i)
    bench.pipeline->access(address_of(bench.as<double>() + i % 512), 8, i % 3 == 0, 0x401000);
  bench.pipeline->flush();
  EXPECT_EQ(bench.sink.instructions, 12345u * 7);
  EXPECT_EQ(sites.asked, 1);
}

// Loops of all lengths, including powers of two and multiples of the sampling distances: none aliases
// with the samples.
TEST(SiteWorkTable, MixedSites_WithinSamplingError) {
  constexpr int k_accesses = 2'000'000;
  for (const int period : {2, 3, 16, 64, 100, 127, 128, 256, 1000}) {
    Sites sites(Instructions{{1, 0}, {2, 100}});
    Bench bench(1 << 16, sites.config());
    for (int i = 0; i < k_accesses; ++i)
      bench.pipeline->access(address_of(bench.as<double>()), 8, false, i % period == 0 ? 2 : 1);
    bench.pipeline->flush();
    const double expected = 100.0 * k_accesses / period;
    // Samples of a Bernoulli variable, one in some 128 accesses.
    const double samples = k_accesses / 160.0;
    const double share = 1.0 / period;
    const double deviation = 100.0 * k_accesses * std::sqrt(share * (1 - share) / samples);
    EXPECT_NEAR(static_cast<double>(bench.sink.instructions), expected, 4 * deviation) << period;
  }
}

TEST(SiteWorkTable, RepeatedRun_IsIdentical) {
  const auto once = [] {
    Sites sites(Instructions{{1, 3}, {2, 50}, {3, 11}});
    Bench bench(1 << 16, sites.config());
    std::minstd_rand random(1);
    for (int i = 0; i < 100'000; ++i)
      bench.pipeline->access(address_of(bench.as<double>() + random() % 4096), 8, false, 1 + random() % 3);
    bench.pipeline->flush();
    return bench.sink.instructions;
  };
  EXPECT_EQ(once(), once());
}

TEST(SiteWorkTable, Blocks_CountExactlyAndEndQuanta) {
  Sites sites(Instructions{{5, 40}, {6, 2}});
  Bench bench(1 << 16, sites.config(1000));
  for (int i = 0; i < 1000; ++i) {
    bench.pipeline->block(5);
    bench.pipeline->block(6);
  }
  bench.pipeline->flush();
  EXPECT_EQ(bench.sink.instructions, 42000u);
  EXPECT_EQ(bench.sink.accesses, 0u);
  EXPECT_EQ(bench.sink.quanta, 3u) << "16 instructions for each access of a full one";
}

TEST(SiteWorkTable, UndescribedCode_UsesDefault) {
  Bench bench(1 << 16);
  for (int i = 0; i < 777; ++i) bench.load(bench.as<double>() + i % 8);
  bench.pipeline->flush();
  EXPECT_EQ(bench.sink.instructions, 777u * observe::k_instructions_per_access);
}

// For any other accesses.
TEST(SiteWorkTable, Ranges_CountByLines) {
  Sites sites(Instructions{{1, 1000}});
  Bench bench(1 << 16, sites.config());
  for (int i = 0; i < 100; ++i) bench.pipeline->range(address_of(bench.as<char>()), 64 * 100, i % 2 == 0, 9);
  bench.pipeline->flush();
  EXPECT_EQ(bench.sink.instructions, 100u * 100 * k_instructions_per_copied_line);
  EXPECT_EQ(sites.asked, 0);
}

// Tests a function whose instructions take a tenth, or three times as long: no part is lost between quanta.
TEST(SiteWorkTable, Function_OfItsOwnCost_CountsPartsOfInstructions) {
  for (const double cost : {0.1, 1.0, 3.0}) {
    SiteWorkTable work([&](std::uint64_t) { return SiteWork::at_cost(7, false, cost); }, true);
    auto config = small_config();
    config.work = &work;
    config.quantum_accesses = 10;
    Bench bench(1 << 16, config);
    for (int i = 0; i < 12345; ++i) bench.pipeline->block(0x401000);
    bench.pipeline->flush();
    EXPECT_NEAR(static_cast<double>(bench.sink.instructions), 12345 * 7 * cost, 12345 * 7 * cost * 0.003 + 1);
  }
}

// Loop detection uses it and must not depend on the sizes of the caches.
TEST(SiteWorkTable, PipelineWork_DifferentCaches_IsIndependentOfMisses) {
  const auto work_of = [](const PipelineConfig& config, std::uint64_t& misses) {
    Bench bench(1 << 16, config);
    for (std::uint64_t i = 0; i < 20'000; ++i)
      bench.pipeline->access(address_of(bench.as<double>() + i * 613 % 4096), 8, false, 1 + i / 64 % 50);
    const auto work = bench.pipeline->work();
    bench.pipeline->flush();
    misses = bench.sink.misses.size();
    return work;
  };
  std::uint64_t small = 0, large = 0;
  EXPECT_EQ(work_of(config_of(1024, 4096), small), work_of(config_of(4096, 1 << 20), large));
  EXPECT_GT(small, 2 * large);
}

// Loop detection uses it and must give the same loops in a calibrated run.
TEST(SiteWorkTable, PipelineWork_CodeOfItsOwnCost_IsThatOfUnweightedCode) {
  const auto work_of = [](bool is_weighted) {
    const auto find = [&](std::uint64_t site) {
      return SiteWork::at_cost(static_cast<std::uint32_t>(5 + site % 7), false,
                               !is_weighted    ? 1
                               : site % 2 == 0 ? 9
                                               : 0.2);
    };
    SiteWorkTable work(find, is_weighted);
    auto config = small_config();
    config.work = &work;
    Bench bench(1 << 16, config);
    std::vector<std::uint64_t> so_far;
    for (std::uint64_t i = 0; i < 20'000; ++i) {
      bench.pipeline->access(address_of(bench.as<double>() + i % 4096), 8, false, 1 + i / 64 % 50);
      bench.pipeline->block(100 + i % 3);
      if (i % 997 == 0) so_far.push_back(bench.pipeline->work());
    }
    return so_far;
  };
  EXPECT_EQ(work_of(true), work_of(false));
}

// The counters of all functions sum to those of the quanta: instructions, hits, misses and their weights.
TEST(FunctionCounters, Counts_OfAllFunctions_AreThoseOfTheQuanta) {
  Sites sites(Instructions{{1, 3}, {2, 5}, {3, 40}});
  FunctionCounters functions([](std::uint64_t site) { return site == 2 ? std::string("b") : std::string("a"); });
  auto config = sites.config(1000);
  config.functions = &functions;
  Bench bench(1 << 22, config);
  std::minstd_rand random(1);
  for (int i = 0; i < 100'000; ++i) {
    const auto site = 1 + random() % 2;
    bench.pipeline->access(address_of(bench.as<double>() + random() % (1 << 19)), 8, i % 5 == 0, site);
    if (i % 3 == 0) bench.pipeline->block(3);
  }
  bench.pipeline->flush();
  std::array<std::uint64_t, FunctionCounters::k_counts> sum{};
  std::istringstream lines(functions.format());
  int number = 0;
  for (std::string line; std::getline(lines, line); ++number) {
    std::istringstream words(line.substr(line.find('\t')));
    for (auto& count : sum) {
      std::uint64_t of_function = 0;
      words >> of_function;
      count += of_function;
    }
  }
  EXPECT_EQ(number, 2);
  const auto near = static_cast<double>(bench.sink.instructions);
  EXPECT_NEAR(static_cast<double>(sum[FunctionCounters::work]) / k_parts_per_instruction, near, near * 0.001);
  std::uint64_t read = 0;
  std::uint64_t written = 0;
  for (const auto& miss : bench.sink.misses) ++(miss.kind == MissKind::writeback ? written : read);
  EXPECT_EQ(
      sum[FunctionCounters::prefetched] + sum[FunctionCounters::independent] + sum[FunctionCounters::dependent],
      read);
  EXPECT_EQ(sum[FunctionCounters::written], written);
  EXPECT_GT(read, 10'000u);
}

TEST(SiteWorkTable, Clear_SitesAreComputedAgain) {
  std::uint32_t there = 3;
  SiteWorkTable work([&](std::uint64_t) { return SiteWork(there, there == 8); });
  SiteWork found(0);
  EXPECT_FALSE(work.lookup(4, found));
  EXPECT_EQ(work.compute(4).parts, 3 * k_parts_per_instruction);
  EXPECT_TRUE(work.lookup(4, found));
  EXPECT_FALSE(found.marks_loop);
  EXPECT_FALSE(work.lookup(4 + 8192, found)) << "it shares the entry";
  there = 8;
  work.clear();
  EXPECT_FALSE(work.lookup(4, found));
  EXPECT_EQ(work.compute(4).parts, 8 * k_parts_per_instruction);
  EXPECT_TRUE(work.lookup(4, found));
  EXPECT_TRUE(found.marks_loop);
  there = 1 << 21;
  EXPECT_EQ(work.compute(5).parts, k_max_parts / k_parts_per_instruction * k_parts_per_instruction);
  EXPECT_TRUE(work.lookup(5, found));
  EXPECT_EQ(found.parts, k_max_parts / k_parts_per_instruction * k_parts_per_instruction);
  EXPECT_FALSE(found.marks_loop);
}

}  // namespace
}  // namespace terrace::observe::test
