// Tests the stencil programs at small sizes: every executor's results are as expected and bitwise equal.
#include <gtest/gtest.h>

#include <set>

#include "workloads/stencils/axes.hpp"
#include "workloads/stencils/chain_needs.hpp"
#include "workloads/stencils/program.hpp"

namespace terrace::stencil::programs {
namespace {

class Program : public testing::TestWithParam<const StencilProgram*> {};

std::vector<Result> run(const StencilProgram& program, const Options& options) {
  Context context(options);
  Arguments arguments({});
  return program.run(context, arguments);
}

// Default size: one to two seconds at most.
TEST_P(Program, EveryExecutor_GivesExpectedResults) {
  const auto serial = run(*GetParam(), {.executor = "serial"});
  ASSERT_FALSE(serial.empty());
  auto held = 0;
  for (const auto& result : serial) {
    EXPECT_TRUE(result.holds()) << result.name << " is " << result.value << ", expected " << result.expected;
    held += result.allowed > 0;
  }
  EXPECT_GT(held, 0);
  for (const auto& options :
       {Options{.executor = "parallel", .threads = 2}, Options{.executor = "tiled", .threads = 1},
        Options{.executor = "tiled", .threads = 2, .tile = {40, 7, 5}}}) {
    const auto results = run(*GetParam(), options);
    ASSERT_EQ(results.size(), serial.size());
    for (std::size_t i = 0; i < results.size(); ++i)
      EXPECT_EQ(results[i].value, serial[i].value) << results[i].name << ", " << options.executor;
  }
}

// Every layer occurs once, its image is the point equally far inside, and no stencil offset of its loop
// connects two of its points.
TEST(MirrorLayers, EachLayer_OccursOnceAndReadsNoneOfItsLoop) {
  const Range grid{{0, 20}, {3, 30}, {0, 25}};
  for (std::size_t axis = 0; axis < 3; ++axis)
    for (std::ptrdiff_t layers = 1; layers <= 15; ++layers) {
      SCOPED_TRACE(std::to_string(layers) + " layers along " + "xyz"[axis]);
      const auto begin = grid.begin[axis], end = grid.end[axis];
      std::set<std::ptrdiff_t> found;
      for (const auto& loop : MirrorLayers::of(grid, axis, layers)) {
        const auto from = loop.range.begin[axis], to = loop.range.end[axis];
        for (auto point = from; point < to; ++point) {
          EXPECT_TRUE(found.insert(point).second);
          const auto image = MirrorLayers::image(loop.side, point);
          EXPECT_EQ(point + image, point < begin ? 2 * begin - 1 - point : 2 * end - 1 - point);
          Point offset{0, 0, 0};
          offset[axis] = image;
          EXPECT_EQ(std::ranges::count(loop.stencil.offsets(), offset), 1);
        }
        for (const auto& offset : loop.stencil.offsets())
          EXPECT_TRUE(offset[axis] == 0 || std::abs(offset[axis]) >= to - from) << offset[axis];
      }
      EXPECT_EQ(found.size(), static_cast<std::size_t>(2 * layers));
      EXPECT_EQ(*found.begin(), begin - layers);
      EXPECT_EQ(*found.rbegin(), end - 1 + layers);
    }
}

// An earlier chain stores the right side; each chain of sweeps reads it and the previous result.
TEST(JacobiChains, Needs_AreRightSideAndPreviousSweep) {
  constexpr double k_points = 512 * 512, k_size = k_points * sizeof(double), k_memory = 1 << 20;
  const auto given = [] {
    return Arguments({{"cells", "512"}, {"iterations", "40"}, {"chain", "10"}, {"source", "0.01"}});
  };
  const auto& jacobi = find_stencil_program("jacobi");
  Needs needs;
  {
    auto context = counting_context(needs);
    auto arguments = given();
    static_cast<void>(jacobi.run(context, arguments));
    context.run();
  }
  ASSERT_EQ(needs.chains.size(), 5U);
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(needs.chains[i].in, i == 0 ? 0 : 2 * k_size);
    EXPECT_EQ(needs.chains[i].out, 2 * k_size);  // start and right side; two that alternate
  }
  EXPECT_GT(needs.dataset_bytes, 3 * k_size);

  Context streamed(Options{.executor = "streamed",
                           .threads = 1,
                           .memory = static_cast<std::uint64_t>(k_memory),
                           .folder = testing::TempDir()});
  auto arguments = given();
  const auto results = jacobi.run(streamed, arguments);
  EXPECT_TRUE(results[0].holds()) << results[0].value << ", expected " << results[0].expected;
  EXPECT_GE(streamed.statistics().bytes_in, 4 * (2 * k_size - k_memory));
  EXPECT_EQ(streamed.statistics().chains, 5U);
}

// Computed by hand: temporaries are neither read nor written, whatever the chain.
TEST(Needs, Temporaries_AreNotCounted) {
  Needs needs;
  auto context = counting_context(needs);
  const auto block = context.block("block", {10, 20});
  auto u = block.dataset<double>("u", {{0, -1}, {0, 1}});
  const auto v = block.dataset<double>("v");
  const auto t = block.temporary<float>("t");
  const auto step = [&] {
    block.loop(
        "there", block.range(), [](auto to, auto from) { to() = static_cast<float>(from(0, 1)); }, write(t),
        read(u, Stencil{{0, 1}}));
    block.loop(
        "back", Range{{0, 10}, {0, 5}}, [](auto to, auto from) { to() = from(); }, write(v), read(t));
    context.run();
  };
  step();
  EXPECT_EQ(needs.chains[0].in, 0);  // u was never written
  EXPECT_EQ(needs.chains[0].out, 50 * 8);
  u.set(block.range(), std::vector<double>(200, 1.0));
  step();
  EXPECT_EQ(needs.chains[1].in, 190 * 8);  // all rows but the first
  EXPECT_EQ(needs.chains[1].out, 50 * 8);
}

INSTANTIATE_TEST_SUITE_P(All, Program, testing::ValuesIn(stencil_programs()),
                         [](const auto& program) { return std::string(program.param->name()); });

}  // namespace
}  // namespace terrace::stencil::programs
