// Tests threads that proceed from step to step: their waiting times, and what happens if a kernel throws.
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "host_backend.hpp"
#include "stencil/engine/engine.hpp"
#include "stencil/stream/step_plan.hpp"
#include "terrace/stencil.hpp"

namespace terrace::stencil::test::stream_steps {
namespace {

// A kernel that throws in one row, with two threads and memory for one step or more.
TEST(StreamSteps, KernelThrows_EndsAllSteps) {
  int thrown = 0, refused = 0;
  for (std::ptrdiff_t width = 3000; width <= 7000; width += 100) {
    SCOPED_TRACE("width " + std::to_string(width));
    Context context({.executor = "streamed", .threads = 2, .memory = 256 << 10U, .folder = testing::TempDir()});
    const auto block = context.block("block", {width, 40});
    const auto u = block.dataset<double>("u", {{0, -1}, {0, 1}}), v = block.dataset<double>("v");
    const auto run = [&] {
      block.loop(
          "mean", block.range(),
          [width](auto to, auto from, auto i) {
            to() = from(0, -1) + from(0, 1);
            if (i[0] != width - 1 || i[1] != 11) return;
            std::this_thread::sleep_for(
                std::chrono::milliseconds(5));  // until the other thread waits for its step
            throw std::runtime_error("kernel said no");
          },
          write(v), read(u, Stencil{{0, -1}, {0, 1}}), index());
      context.run();
    };
    try {
      run();
      ADD_FAILURE() << "nothing was thrown";
    } catch (const std::runtime_error& error) {
      (std::string(error.what()) == "kernel said no" ? thrown : refused) += 1;
    }
    // The next chain runs.
    if (refused > 0) continue;
    block.loop(
        "one", block.range(), [](auto to) { to() = 1; }, write(v));
    context.run();
    EXPECT_EQ(v.get(Range{{width - 1, width}, {39, 40}}).at(0), 1);
  }
  EXPECT_GT(thrown, 20);
}

// Each copy takes a while.
class SlowVariant final : public ExecutorVariant {
 public:
  [[nodiscard]] std::string_view name() const override { return "slow"; }
  [[nodiscard]] std::unique_ptr<Executor> make(const Options& options, Statistics& statistics) const override {
    constexpr std::chrono::milliseconds delay{2};
    return make_streamed(options, std::make_unique<HostBackend>(options.memory, 4096, delay), statistics);
  }
};

// Threads mostly wait, one at a time.
TEST(StreamSteps, SlowCopies_CountAsWaiting) {
  const SlowVariant slow;
  Options options{.executor = "slow", .threads = 3, .tile = {0, 4}};
  options.memory = 36 * 4096;  // for steps of one tile
  Context context(std::make_unique<Engine>(options, slow, nullptr));
  const auto block = context.block("block", {512, 400});
  const auto u = block.dataset<double>("u"), v = block.dataset<double>("v");
  block.loop(
      "start", block.range(), [](auto to, auto i) { to() = static_cast<double>(i[1]); }, write(u), index());
  context.run();
  const auto before = context.statistics().waited;
  const auto start = std::chrono::steady_clock::now();
  block.loop(
      "copy", block.range(), [](auto to, auto from) { to() = from(); }, write(v), read(u));
  context.run();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  const auto waited = context.statistics().waited - before;
  EXPECT_LE(waited, took.count());
  EXPECT_GT(waited, 0.3 * took.count());
}

// A chain of alternating loops over two datasets.
Chain chain_of(std::size_t loops, const Range& range, std::ptrdiff_t reach) {
  Chain chain;
  for (std::size_t l = 0; l < loops; ++l) {
    Loop loop;
    loop.range = range;
    const Point low{0, -reach, 0}, high{0, reach, 0};
    const auto from = static_cast<DatasetId>(l % 2), to = static_cast<DatasetId>(1 - l % 2);
    loop.arguments.push_back({from, "", Access::read, Stencil(std::vector<Point>{low, high}), low, high, 8});
    loop.arguments.push_back({to, "", Access::write, Stencil{}, {0, 0, 0}, {0, 0, 0}, 8});
    chain.push_back(loop);
  }
  return chain;
}

// Counts the chunks that steps [first, last] of a plan use, one by one.
std::size_t chunks_between(const StreamPlan& plan, std::size_t first, std::size_t last) {
  std::size_t count = 0;
  for (const auto& use : plan.uses) count += use.first <= last && first <= use.last;
  return count;
}

// Steps have as many tiles as fit: those that threads are in at one time, and the next step. The next larger
// step does not fit, or has more than two tiles for each thread.
TEST(StreamSteps, Steps_AreAsLargeAsMemoryAllows) {
  int smaller = 0, largest = 0;
  for (const std::size_t threads : {1U, 2U, 3U, 4U})
    for (const std::size_t frames : {20U, 40U, 60U, 90U, 140U, 250U})
      for (const std::size_t loops : {1U, 4U, 9U}) {
        SCOPED_TRACE(std::to_string(threads) + " threads, " + std::to_string(frames) + " frames, " +
                     std::to_string(loops) + " loops");
        const Range range{{0, 512}, {0, 300}};
        std::vector<DatasetInfo> infos;
        for (DatasetId id = 0; id < 2; ++id) {
          DatasetInfo info{"", id, 0, 8, {{0, 512}, {-1, 301}}};
          info.row = 512;
          info.plane = 512 * 302;
          infos.push_back(info);
        }
        const auto chain = chain_of(loops, range, 1);
        const StreamLayout layout{4096, {0, 0}, {false, false}};
        const CacheTiles tiles{{512, 4, 0}, 1 << 20U, threads};
        const auto way = plan_cache_steps(chain, {infos, layout, frames}, tiles, false);
        const auto& steps = way.stream->steps;
        const auto in_step = steps[0].last_tile - steps[0].first_tile;
        const auto fits = [&](const StreamPlan& plan, std::size_t tiles_in_step) {
          const auto there = (threads + tiles_in_step - 1) / tiles_in_step + 1;
          for (std::size_t s = 0; s < plan.steps.size(); ++s)
            if (chunks_between(plan, s, s + there - 1) > frames) return false;
          return true;
        };
        if (!fits(*way.stream, in_step)) {
          EXPECT_EQ(way.tiles->size()[1], 1);  // nothing smaller is left
          EXPECT_EQ(in_step, 1U);
          continue;
        }
        if (in_step == 2 * threads || steps.size() == 1) {
          ++largest;
          continue;
        }
        ++smaller;
        EXPECT_FALSE(fits(plan_stream(chain, *way.tiles, 1, 2 * in_step, infos, layout), 2 * in_step));
      }
  EXPECT_GT(smaller, 5);
  EXPECT_GT(largest, 5);
}

}  // namespace
}  // namespace terrace::stencil::test::stream_steps
