// Tests that chains too large for the memory are split with unchanged results, and refused if they cannot be
// split.
#include "stencil/stream/chain_splitter.hpp"

#include <gtest/gtest.h>

#include <optional>

#include "host_backend.hpp"
#include "refusal.hpp"
#include "terrace/stencil.hpp"

namespace terrace::stencil::test::shortened_chains {
namespace {

constexpr std::ptrdiff_t k_width = 500, k_height = 80;
constexpr std::uint64_t k_memory = 64 * 4096;  // the two datasets are five times as large

std::vector<double> steps(Context& context, int count, bool is_temporary) {
  const auto block = context.block("block", {k_width, k_height});
  const Halo around{{0, -1}, {0, 1}};
  auto u = block.dataset<double>("u", around);
  const auto t = is_temporary ? block.temporary<double>("t") : block.dataset<double>("t");
  auto sum = context.sum<double>();
  block.loop(
      "start", block.range(), [](auto to, auto at) { to() = static_cast<double>(at[0] % 7 - 2 * at[1]); },
      write(u), index());
  for (int step = 0; step < count; ++step) {
    block.loop(
        "mean", block.range(), [](auto to, auto from) { to() = 0.25 * (from(0, -1) + 2 * from() + from(0, 1)); },
        write(t), read(u, Stencil{{0, -1}, {0, 0}, {0, 1}}));
    block.loop(
        "back", block.range(),
        [](auto to, auto from, auto all) {
          to() = from();
          all += from();
        },
        write(u), read(t), into(sum));
  }
  auto numbers = u.get(block.range());
  numbers.push_back(sum.value());
  return numbers;
}

class ShortenedChains : public testing::TestWithParam<bool> {};

TEST_P(ShortenedChains, TooLargeForMemory_GivesSameValues) {
  Context serial(Options{.executor = "serial"});
  const auto expected = steps(serial, 40, GetParam());
  EXPECT_EQ(serial.statistics().shortened_chains, 0U);
  Context streamed(
      Options{.executor = "streamed", .threads = 2, .memory = k_memory, .folder = testing::TempDir()});
  EXPECT_EQ(steps(streamed, 40, GetParam()), expected);
  EXPECT_GT(streamed.statistics().shortened_chains, 0U);
  EXPECT_GT(streamed.statistics().bytes_in, 0);
  // Chain as the program declared it.
  EXPECT_EQ(streamed.statistics().chains, serial.statistics().chains);
  EXPECT_EQ(streamed.statistics().longest_chain, 81U);
}

// In steps of two loops a temporary carries values from the first to the second: no cut may separate them.
TEST_P(ShortenedChains, FitsIntoMemory_IsNotSplit) {
  Context streamed(
      Options{.executor = "streamed", .threads = 1, .memory = k_memory, .folder = testing::TempDir()});
  (void)steps(streamed, 2, GetParam());
  EXPECT_EQ(streamed.statistics().shortened_chains, 0U);
  EXPECT_GT(streamed.statistics().bytes_out, 0);
}

INSTANTIATE_TEST_SUITE_P(Datasets, ShortenedChains, testing::Bool(),
                         [](const auto& tested) { return tested.param ? "Temporary" : "Kept"; });

// A loop with a wide stencil does not fit, however short the chain is.
TEST(ShortenedChain, SingleLoopTooLarge_Throws) {
  Context context(Options{.executor = "streamed", .threads = 1, .memory = k_memory, .folder = testing::TempDir()});
  const auto block = context.block("block", {k_width, k_height});
  const auto u = block.dataset<double>("u", {{0, -70}, {0, 70}}), v = block.dataset<double>("v");
  for (int step = 0; step < 3; ++step)
    block.loop(
        "far", block.range(), [](auto to, auto from) { to() = from(0, -70) + from(0, 70); }, write(v),
        read(u, Stencil{{0, -70}, {0, 70}}));
  const auto said = refusal([&] { context.run(); });
  EXPECT_TRUE(said.starts_with("memory=256KiB is too little for a chain of 1 loops, from 'far' to 'far', whose "))
      << said;
  EXPECT_TRUE(said.ends_with(": make memory=SIZE larger")) << said;
}

// Each value of the temporary is read by the loop after the one that writes it, up to the chain's end.
TEST(ShortenedChain, EachCutWouldLoseTemporary_Throws) {
  Context context(Options{.executor = "streamed", .threads = 1, .memory = k_memory, .folder = testing::TempDir()});
  const auto block = context.block("block", {k_width, k_height});
  const auto t = block.temporary<double>("t", {{0, -30}, {0, 30}}),
             v = block.dataset<double>("v", {{0, -30}, {0, 30}});
  block.loop(
      "first", t.range(), [](auto to) { to() = 1; }, write(t));
  for (int step = 0; step < 3; ++step) {
    block.loop(
        "there", block.range(), [](auto to, auto from) { to() = from(0, -30) + from(0, 30); }, write(v),
        read(t, Stencil{{0, -30}, {0, 30}}));
    block.loop(
        "back", block.range(), [](auto to, auto from) { to() += from(0, -30) + from(0, 30); }, read_write(t),
        read(v, Stencil{{0, -30}, {0, 30}}));
  }
  const auto said = refusal([&] { context.run(); });
  EXPECT_TRUE(
      said.starts_with("memory=256KiB is too little for a chain of 7 loops, from 'first' to 'back', whose "))
      << said;
  EXPECT_TRUE(
      said.ends_with(": make memory=SIZE larger, or declare temporary datasets as ordinary ones: no chain is cut "
                     "between the uses of a temporary"))
      << said;
  EXPECT_EQ(context.statistics().shortened_chains, 0U);
}

}  // namespace
}  // namespace terrace::stencil::test::shortened_chains
