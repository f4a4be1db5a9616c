// Tests the modes of virtual time against closed forms.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "stencil/engine/engine.hpp"
#include "stencil/stream/chain_splitter.hpp"
#include "stencil/stream/step_plan.hpp"
#include "stencil/virtual/virtual_run.hpp"
#include "virtual_chains.hpp"

namespace terrace::stencil::test {
namespace {

constexpr std::ptrdiff_t k_row = 1000;

// Makes `count` datasets with rows of that many bytes.
std::vector<DatasetInfo> datasets(DatasetId count, std::ptrdiff_t rows) {
  std::vector<DatasetInfo> made;
  for (DatasetId id = 0; id < count; ++id) made.push_back(dataset(id, {{0, k_row}, {0, rows}}));
  return made;
}

// --- transfers between blocks ---

TEST(Transfers, Transfer_CostsOneReadAndOneWrite) {
  auto made = mode("flat-slow", make_tiers(1e9, 1e12, 8e3, 1e12), {});
  Context context(std::make_unique<Engine>(Options{.executor = "virtual"}, make_virtual_executor(*made)));
  const auto left = context.block("left", {100, 10}), right = context.block("right", {100, 10});
  const auto u = left.dataset<double>("u"), v = right.dataset<double>("v", {{0, -1}, {0, 0}});
  context.transfer(u, {{0, 100}, {9, 10}}, v, {{0, 100}, {-1, 0}});
  context.run();
  EXPECT_DOUBLE_EQ(made->counts().accesses, 2 * 100 * 8);
  EXPECT_NEAR(made->counts().seconds, 2 * 100 * 8 / 8e3, 1e-6);
}

// --- slots ---

// Reads one dataset and writes it, a row of 8000 bytes at a time.
Chain updates(DatasetId id, std::ptrdiff_t rows) {
  return {loop({{0, k_row}, {0, rows}}, {argument(id, Access::read_write)})};
}

TEST(Slots, WrongPrefetch_IsWasted) {
  constexpr std::ptrdiff_t rows = 100;
  // A slot holds ten rows, so there are ten tiles; copies dominate the time.
  const auto tiers = make_tiers(240e3, 1e12, 8e3, 1e12);
  const auto same = updates(0, rows), other = updates(1, rows);
  const auto run = [&](const std::vector<const Chain*>& chains, bool is_prefetched) {
    auto made = mode("slots", tiers, datasets(2, rows), {true, true, is_prefetched});
    for (const auto* chain : chains) made->run(*chain);
    return made->counts();
  };
  const auto wrong = run({&same, &other}, true), right = run({&same, &same}, true);
  const auto never = run({&same, &other}, false);
  EXPECT_EQ(never.tiles, 20);
  EXPECT_DOUBLE_EQ(never.bytes_in, 1600e3);
  EXPECT_DOUBLE_EQ(right.bytes_in, 1600e3);
  EXPECT_DOUBLE_EQ(wrong.bytes_in, 1680e3);  // one more tile
  EXPECT_DOUBLE_EQ(wrong.bytes_out, never.bytes_out);
  // The slow memory is always busy: the time is that of all bytes.
  EXPECT_NEAR(wrong.seconds - right.seconds, 10, 1e-6);
  EXPECT_GE(wrong.seconds, never.seconds - 1e-6);
}

TEST(Slots, PartialPrefetch_FetchesRemainder) {
  constexpr std::ptrdiff_t rows = 100;
  const auto tiers = make_tiers(480e3, 1e12, 8e3, 1e12);
  const auto first = updates(0, rows);
  auto second = updates(0, rows);
  second[0].arguments.push_back(argument(1, Access::read));
  auto made = mode("slots", tiers, datasets(2, rows), {});
  made->run(first);
  EXPECT_DOUBLE_EQ(made->counts().bytes_in, 800e3);
  made->run(second);
  // The first tile now has fewer rows than were prefetched of its one dataset, twenty: it uses ten of each of
  // two; ten were wasted.
  EXPECT_DOUBLE_EQ(made->counts().bytes_in, 800e3 + 160e3 + 1600e3 - 80e3);
}

TEST(Slots, DataOfLastTiles_AreNotPrefetched) {
  // One tile has all rows: nothing that it writes can be prefetched for the next chain while it runs.
  constexpr std::ptrdiff_t rows = 10;
  const auto tiers = make_tiers(300e3, 1e12, 8e3, 8e3);
  auto made = mode("slots", tiers, datasets(1, rows), {});
  const auto chain = updates(0, rows);
  made->run(chain);
  EXPECT_NEAR(made->counts().seconds, 10 + 20 + 10, 1e-6);  // in, loops, out
  made->run(chain);
  EXPECT_NEAR(made->counts().seconds, 80, 1e-6);
}

// Ten tiles in a pipeline: one runs, the next is fetched, the previous is written back. One-way copies take as
// long as loops, and both directions share the memory; so each tile takes its copies' time, and loops run half
// of it.
TEST(Slots, Copies_OverlapLoops) {
  constexpr std::ptrdiff_t rows = 100;
  auto tiers = make_tiers(240e3, 1e12, 8e3, 32e3);  // loops read and write: 160e3 bytes of each tile, 5 s
  tiers.slow_read = tiers.slow_write = 1e12;        // a link, with its bandwidth each way
  auto made = mode("slots", tiers, datasets(1, rows), {true, false, false});
  made->run(updates(0, rows));
  const auto& counts = made->counts();
  // The first fetch and the last write-back overlap nothing: 10 s each; between, ten tiles wait for copies.
  EXPECT_NEAR(counts.bytes_in, 800e3, 1);
  EXPECT_NEAR(counts.bytes_out, 800e3, 1);
  EXPECT_NEAR(counts.loop_seconds, 50, 1e-6);
  EXPECT_NEAR(counts.seconds, 10 * 10 + 5 + 10, 1e-6);
  EXPECT_NEAR(counts.copy_seconds, counts.seconds, 1e-6);
  EXPECT_NEAR(counts.hidden_seconds, 50, 1e-6);
}

// --- streamed ---

// Each loop reads the previous one's output in adjacent rows.
Chain sweeps(DatasetId count, std::ptrdiff_t rows, int loops) {
  Chain chain;
  for (int i = 0; i < loops; ++i) {
    const auto from = static_cast<DatasetId>(i) % count, to = (from + 1) % count;
    chain.push_back(loop({{0, k_row}, {2, rows - 2}},
                         {argument(from, Access::read, {0, -2, 0}, {0, 2, 0}), argument(to, Access::write)}));
  }
  return chain;
}

// Chains alternate in direction, in chunks of 4096 bytes; loops take ten times as long as copies.
TEST(Streamed, Copies_OverlapLoops) {
  constexpr std::ptrdiff_t rows = 250;
  constexpr DatasetId count = 3;
  const auto run = [&](double loops, bool is_prefetched) {
    auto made =
        mode("streamed", make_tiers(2e6, 1e9, 30e3, loops), datasets(count, rows), {true, true, is_prefetched});
    const auto chain = sweeps(count, rows, 12);
    ModeCounts before;
    for (int i = 0; i < 12; ++i) {
      if (i == 6) before = made->counts();
      made->run(chain);
    }
    auto more = made->counts();
    more.seconds -= before.seconds;
    more.loop_seconds -= before.loop_seconds;
    more.copy_seconds -= before.copy_seconds;
    more.hidden_seconds -= before.hidden_seconds;
    more.bytes_in -= before.bytes_in;
    more.bytes_out -= before.bytes_out;
    return more;
  };
  const auto slow = run(30e3, true);
  EXPECT_GT(slow.bytes_in + slow.bytes_out, 6e6);  // a third of 6e6 bytes stays between chains
  EXPECT_GT(slow.overlap(), 0.99);
  EXPECT_LT(slow.seconds, 1.01 * slow.loop_seconds);
  // Without loop time there is nothing to hide copies behind: they take their bytes' time.
  const auto fast = run(1e9, true);
  EXPECT_LT(fast.overlap(), 0.01);
  EXPECT_NEAR(fast.seconds, (fast.bytes_in + fast.bytes_out) / 30e3, 0.05 * fast.seconds);
  // In between: at most the longer of both, plus the start of chains.
  const auto even = run(150e3, true);
  EXPECT_LT(even.seconds, 0.75 * (even.loop_seconds + even.copy_seconds));
  EXPECT_GT(even.overlap(), 0.5);
}

// Besides its bytes, a fetched chunk costs its mapping on a GPU; with cores each transfer has a cost per copy.
// Bytes and loops take almost no time, and chunks are serial.
TEST(Streamed, Chunks_HaveFixedCosts) {
  constexpr std::ptrdiff_t rows = 25000;
  constexpr DatasetId count = 3;
  constexpr double memory = 200e6;
  const auto run = [&](const TwoTierMachine& tiers) {
    auto made = mode("streamed", tiers, datasets(count, rows));
    for (int i = 0; i < 4; ++i) made->run(sweeps(count, rows, 12));
    return made->counts();
  };
  auto gpu = make_tiers(memory, 1e15, 1e15, 1e15);
  gpu.is_gpu = true;
  gpu.map = 1;
  const auto on_gpu = run(gpu);
  const auto gpu_chunk = static_cast<double>(
      chunk_size(static_cast<std::uint64_t>(memory), k_gpu_chunks.largest, k_gpu_chunks.smallest));
  EXPECT_GT(on_gpu.bytes_in, memory);
  EXPECT_GE(on_gpu.seconds, 0.99 * on_gpu.bytes_in / gpu_chunk);
  auto cores = make_tiers(memory, 1e15, 1e15, 1e15);
  cores.copier.threads = 1;
  cores.copier.call = Seconds{1};
  const auto by_cores = run(cores);
  const auto chunk = static_cast<double>(
      chunk_size(static_cast<std::uint64_t>(memory), k_processor_chunks.largest, k_processor_chunks.smallest));
  EXPECT_GT(by_cores.bytes_in, memory);
  EXPECT_GE(by_cores.seconds, 0.99 * (by_cores.bytes_in + by_cores.bytes_out) / chunk);
}

TEST(Streamed, TooLargeChain_IsRefused) {
  const auto tiers = make_tiers(1e5, 1e6, 1e4, 1e6);
  auto made = mode("streamed", tiers, datasets(2, 400));
  try {
    made->run(sweeps(2, 400, 100));
    FAIL();
  } catch (const InsufficientMemory& error) {
    EXPECT_STREQ(error.what(),
                 "the fast memory of 97.7KiB has no space for a tile of 100 loops: make memory=SIZE larger");
  }
}

// --- unified ---

TEST(Unified, UntiledChains_AreCounted) {
  constexpr std::ptrdiff_t rows = 400;
  auto tiers = make_tiers(4e6, 1e6, 30e3, 300e3);
  tiers.fault = 1e-3;
  tiers.fault_bytes = 65536;
  const auto chain = sweeps(2, rows, 100);  // skewed by 200 rows and more
  const auto run = [&](double memory, bool is_tiled) {
    tiers.fast_bytes = memory;
    auto made = mode("unified", tiers, datasets(2, rows), {is_tiled, true, false});
    made->run(chain);
    made->run(chain);
    return made->counts();
  };
  EXPECT_EQ(run(4e6, true).untiled_chains, 2);  // a quarter of it has 62 rows of each
  EXPECT_EQ(run(4e6, true).tiles, 2);
  EXPECT_EQ(run(4e6, false).untiled_chains, 0);
  EXPECT_EQ(run(40e6, true).untiled_chains, 0);
}

TEST(Unified, Prefetch_OverlapsPreviousTile) {
  constexpr std::ptrdiff_t rows = 400;
  auto tiers = make_tiers(4e6, 1e9, 30e3, 60e3);
  tiers.fault = 1e-3;
  tiers.fault_bytes = 65536;
  const auto run = [&](bool is_prefetched) {
    auto made = mode("unified", tiers, datasets(2, rows), {true, true, is_prefetched});
    made->run(sweeps(2, rows, 4));
    return made->counts();
  };
  const auto with = run(true), without = run(false);
  EXPECT_EQ(without.overlap(), 0);
  EXPECT_NEAR(without.seconds, without.loop_seconds + without.copy_seconds, 1e-6);
  EXPECT_GT(with.overlap(), 0.5);
  EXPECT_NEAR(with.seconds, with.loop_seconds + with.copy_seconds - with.hidden_seconds, 1e-6);
}

// --- room in the slow memory ---

TEST(SlowMemory, TooSmall_IsRefused) {
  for (const auto* variant : modes()) {
    if (variant->name == "flat-fast") continue;
    auto tiers = make_tiers(1e6, 1e9, 1e8, 1e9);
    tiers.fault = tiers.fault_bytes = 1;
    tiers.slow_name = "ddr";
    tiers.fast_name = "hbm";
    tiers.slow_bytes = variant->name == "unified" ? 15.9e6 - 1e6 : 15.9e6;
    const auto made = variant->make(tiers, {});
    const auto two = datasets(2, 1000);  // 8e6 bytes each
    made->add(two[0]);
    try {
      made->add(two[1]);
      FAIL() << variant->name;
    } catch (const Error& error) {
      EXPECT_EQ(std::string(error.what()).find("the datasets do not fit into ddr"), 0) << error.what();
      EXPECT_NE(std::string(error.what()).find("slow_memory="), std::string::npos);
    }
  }
}

TEST(SlowMemory, UnstoredTemporaries_TakeNoCapacity) {
  auto tiers = make_tiers(1e6, 1e9, 1e8, 1e9);
  tiers.slow_bytes = 9e6;
  auto two = datasets(2, 1000);
  two[1].is_temporary = true;
  EXPECT_NO_THROW(static_cast<void>(mode("streamed", tiers, two)));
  EXPECT_THROW(static_cast<void>(mode("streamed", tiers, two, {true, false, true})), Error);
}

}  // namespace
}  // namespace terrace::stencil::test
