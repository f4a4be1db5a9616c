// Tests kernels for their results and the steps of their warps: coalescing, waits, divergence and reconvergence.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "core/error.hpp"
#include "gpu_sim/simt/device.hpp"
#include "traces.hpp"

namespace terrace::gpu_sim {
namespace {

std::vector<StepKind> kinds(const Cta& cta) {
  std::vector<StepKind> found;
  for (const auto& step : cta.steps) found.push_back(step.kind);
  return found;
}

const Step& access(const Cta& cta, std::size_t n) {
  for (const auto& step : cta.steps)
    if (is_access(step.kind) && n-- == 0) return step;
  throw std::out_of_range("the CTA has fewer accesses");
}

TEST(Simt, Kernel_ResultsMatchTheLoop) {
  StoredTrace trace;
  Device device(trace);
  constexpr std::int32_t n = 1000;
  auto x = device.array<float>("x", n);
  auto y = device.array<float>("y", n);
  std::iota(x.host().begin(), x.host().end(), 0.0F);
  std::iota(y.host().begin(), y.host().end(), 5.0F);
  device.launch({"saxpy", 4, 256}, [&](Thread& t) {
    const auto i = t.index();
    if (i < n) t.store(y, i, fma(2.0F, t.load(x, i), t.load(y, i)));
  });
  for (std::int32_t i = 0; i < n; ++i)
    ASSERT_EQ(y.host()[static_cast<std::size_t>(i)], 2.0F * static_cast<float>(i) + static_cast<float>(i) + 5);
  ASSERT_EQ(trace.kernels.size(), 1U);
  EXPECT_EQ(trace.kernels[0].ctas.size(), 4U);
  // Lanes 8 and above of the last warp are beyond the end.
  const auto& last = trace.kernels[0].ctas[3];
  EXPECT_EQ(last.warps.size(), 8U);
  EXPECT_EQ(last.steps[last.warps[7].first_step].lanes, 8);
}

// A load's result is waited for where it is used, not where it is loaded.
TEST(Simt, LoadedValue_WaitsAtItsFirstUse) {
  StoredTrace trace;
  Device device(trace);
  auto x = device.array<float>("x", 64);
  auto y = device.array<float>("y", 64);
  device.launch({"add", 1, 32}, [&](Thread& t) {
    const auto i = t.index();
    const auto a = t.load(x, i);
    const auto b = t.load(x, i + 32);
    const auto c = b * 2.0F;  // the younger load first
    t.store(y, i, a + c);
  });
  const auto& cta = trace.kernels[0].ctas[0];
  using enum StepKind;
  EXPECT_EQ(kinds(cta), (std::vector{load, load, use, use, store}));
  EXPECT_EQ(cta.steps[2].back, 1U);
  EXPECT_EQ(cta.steps[3].back, 2U);
  // index; the address; the address and i + 32; -; the multiplication; the addition and the address.
  EXPECT_EQ(cta.steps[0].before, 2U);
  EXPECT_EQ(cta.steps[1].before, 2U);
  EXPECT_EQ(cta.steps[2].before, 0U);
  EXPECT_EQ(cta.steps[3].before, 1U);
  EXPECT_EQ(cta.steps[4].before, 2U);
  EXPECT_EQ(cta.instructions(), 2 + 1 + 2 + 1 + 0 + 1 + 2 + 1U);
}

TEST(Simt, NeighbouringLanes_Coalesce) {
  StoredTrace trace;
  Device device(trace);
  auto x = device.array<float>("x", 32 * 32 + 32);
  const auto lines_of = [&](std::int32_t stride, std::int32_t offset) {
    trace.kernels.clear();
    device.launch({"load", 1, 32}, [&](Thread& t) { static_cast<void>(t.load(x, t.thread() * stride + offset)); });
    const auto& cta = trace.kernels[0].ctas[0];
    std::uint32_t sectors = 0;
    for (const auto part : cta.lines) sectors += static_cast<std::uint32_t>(std::popcount(part.sectors()));
    return std::pair(std::uint32_t{access(cta, 0).lines}, sectors);
  };
  EXPECT_EQ(lines_of(0, 0), std::pair(1U, 1U));
  EXPECT_EQ(lines_of(1, 0), std::pair(1U, 4U));
  EXPECT_EQ(lines_of(1, 4), std::pair(2U, 5U));
  EXPECT_EQ(lines_of(2, 0), std::pair(2U, 8U));
  EXPECT_EQ(lines_of(8, 0), std::pair(8U, 32U));
  EXPECT_EQ(lines_of(32, 0), std::pair(32U, 32U));
}

// A double per lane requests two lines; one that crosses a line boundary requests both.
TEST(Simt, DoubleElements_RequestTwoLines) {
  StoredTrace trace;
  Device device(trace);
  auto x = device.array<double>("x", 64);
  device.launch({"load", 1, 32}, [&](Thread& t) { static_cast<void>(t.load(x, t.thread())); });
  EXPECT_EQ(access(trace.kernels[0].ctas[0], 0).lines, 2);
}

// Lanes on two sides of a branch access one after the other, in the order of the text, and reconverge after it.
TEST(Simt, Branches_DivergeAndReconverge) {
  StoredTrace trace;
  Device device(trace);
  auto x = device.array<std::int32_t>("x", 32);
  auto y = device.array<std::int32_t>("y", 32);
  device.launch({"branch", 1, 32}, [&](Thread& t) {
    const auto i = t.thread();
    if (i % 4 == 0)
      t.store(x, i, 1);
    else
      t.store(x, i, 2);
    t.store(y, i, 3);
  });
  const auto& cta = trace.kernels[0].ctas[0];
  ASSERT_EQ(cta.steps.size(), 3U);
  EXPECT_EQ(cta.steps[0].lanes, 8);
  EXPECT_EQ(cta.steps[1].lanes, 24);
  EXPECT_EQ(cta.steps[2].lanes, 32);
}

// Lane i makes i iterations of the inner loop: in iteration k the lanes above k take part, and in each outer
// iteration all reconverge.
TEST(Simt, LoopsOfDifferentLengths_ReconvergeAfterTheLoop) {
  StoredTrace trace;
  Device device(trace);
  auto x = device.array<std::int32_t>("x", 64);
  auto y = device.array<std::int32_t>("y", 64);
  device.launch({"loops", 1, 32}, [&](Thread& t) {
    const auto i = t.thread();
    for (const auto outer : t.range(0, 2)) {
      for (const auto k : t.range(0, i)) static_cast<void>(t.load(x, k));
      t.store(y, i + outer, 1);
    }
  });
  const auto& cta = trace.kernels[0].ctas[0];
  std::vector<int> lanes;
  for (const auto& step : cta.steps) lanes.push_back(step.lanes);
  std::vector<int> expected;
  for (int outer = 0; outer < 2; ++outer) {
    for (int k = 0; k < 31; ++k) expected.push_back(31 - k);
    expected.push_back(32);
  }
  EXPECT_EQ(lanes, expected);
}

TEST(Simt, WhileLoop_ReconvergesAfterTheLoop) {
  StoredTrace trace;
  Device device(trace);
  auto next = device.array<std::int32_t>("next", 32);
  auto found = device.array<std::int32_t>("found", 32);
  // Lists that end at 31, each one longer than the previous.
  for (std::int32_t i = 0; i < 32; ++i) next.host()[static_cast<std::size_t>(i)] = std::min(i + 1, 31);
  device.launch({"chase", 1, 32}, [&](Thread& t) {
    auto at = t.thread();
    auto steps = t.own(0);
    for (auto loop = t.loop(); loop.iterate(at < 31);) {
      at = t.load(next, at);
      steps += 1;
    }
    t.store(found, t.thread(), steps);
  });
  for (std::int32_t i = 0; i < 32; ++i) EXPECT_EQ(found.host()[static_cast<std::size_t>(i)], 31 - i);
  const auto& cta = trace.kernels[0].ctas[0];
  const auto stores = std::count_if(cta.steps.begin(), cta.steps.end(),
                                    [](const auto& step) { return step.kind == StepKind::store; });
  EXPECT_EQ(stores, 1);
  EXPECT_EQ(cta.steps.back().lanes, 32);
}

// A function below its caller in the text, called twice by some lanes: the first calls of all lanes come before
// the second ones.
Value<std::int32_t> read_of_some(Thread& t, const Array<std::int32_t>& x, const Value<std::int32_t>& i);

TEST(Simt, CalledFunctions_AreOrderedByTheirCallSite) {
  StoredTrace trace;
  Device device(trace);
  auto x = device.array<std::int32_t>("x", 64);
  device.launch({"calls", 1, 32}, [&](Thread& t) {
    const auto i = t.thread();
    if (i % 2 == 0) {
      const auto call = t.call();
      static_cast<void>(read_of_some(t, x, i));
    }
    const auto call = t.call();
    static_cast<void>(read_of_some(t, x, i));
  });
  const auto& cta = trace.kernels[0].ctas[0];
  ASSERT_EQ(cta.steps.size(), 2U);
  EXPECT_EQ(cta.steps[0].lanes, 16);
  EXPECT_EQ(cta.steps[1].lanes, 32);
}

Value<std::int32_t> read_of_some(Thread& t, const Array<std::int32_t>& x, const Value<std::int32_t>& i) {
  return t.load(x, i);
}

// A tree sum in shared memory, which is right only if every thread stops at every barrier.
TEST(Simt, TreeSum_StopsAtEveryBarrier) {
  StoredTrace trace;
  Device device(trace);
  auto x = device.array<std::int32_t>("x", 512);
  auto sum = device.array<std::int32_t>("sum", 2);
  std::iota(x.host().begin(), x.host().end(), 0);
  Shared<std::int32_t> shared(256);
  device.launch({"sum", 2, 256, 10, shared.bytes()}, [&](Thread& t) -> ThreadRun {
    const auto i = t.thread();
    t.write(shared.span(), i, t.load(x, t.index()));
    co_await t.barrier();
    for (std::int32_t half = 128; half != 0; half /= 2) {
      if (i < half) t.write(shared.span(), i, t.read(shared.span(), i) + t.read(shared.span(), i + half));
      co_await t.barrier();
    }
    if (i == 0) t.store(sum, t.block(), t.read(shared.span(), i));
  });
  EXPECT_EQ(sum.host()[0], 255 * 128);
  EXPECT_EQ(sum.host()[1], 767 * 128);
  const auto& cta = trace.kernels[0].ctas[0];
  const auto barriers = std::count_if(cta.steps.begin(), cta.steps.end(),
                                      [](const auto& step) { return step.kind == StepKind::barrier; });
  EXPECT_EQ(barriers, 9 * 8);
}

TEST(Simt, AtomicAdd_SumsAndReturnsOldValues) {
  StoredTrace trace;
  Device device(trace);
  auto count = device.array<std::int32_t>("count", 1);
  device.launch({"count", 3, 64}, [&](Thread& t) { static_cast<void>(t.atomic_add(count, 0, 2)); });
  EXPECT_EQ(count.host()[0], 3 * 64 * 2);
  EXPECT_EQ(access(trace.kernels[0].ctas[0], 0).kind, StepKind::atomic);
}

TEST(Simt, Arrays_BeginOnSeparateBlocks) {
  StoredTrace trace;
  Device device(trace);
  const auto a = device.array<char>("a", 10);
  const auto b = device.array<char>("b", (64 << 10) + 1);
  const auto c = device.array<char>("c", 1);
  EXPECT_EQ(b.address(0) - a.address(0), 64U << 10);
  EXPECT_EQ(c.address(0) - b.address(0), 128U << 10);
  EXPECT_EQ(std::get<Allocation>(trace.events[1].first).bytes, (64U << 10) + 1);
}

TEST(Simt, InvalidKernels_AreRejected) {
  StoredTrace trace;
  Device device(trace);
  auto x = device.array<std::int32_t>("x", 4);
  EXPECT_THROW(device.launch({"far", 1, 32}, [&](Thread& t) { static_cast<void>(t.load(x, t.thread())); }), Error);
  EXPECT_THROW(device.launch({"wide", 1, 2048}, [](Thread&) {}), Error);
  EXPECT_THROW(device.array<int>("none", 0), Error);
  EXPECT_THROW(device.launch({"half", 1, 32},
                             [&](Thread& t) -> ThreadRun {
                               if (t.thread() < 16) co_return;
                               co_await t.barrier();
                             }),
               Error);
}

}  // namespace
}  // namespace terrace::gpu_sim
