// Tests the debug mode, with which this file is compiled: each kind of violation is detected and named; a
// correct program passes with unchanged results.
#include <gtest/gtest.h>

#include <functional>

#include "all_kinds.hpp"

#ifndef TERRACE_STENCIL_CHECKS
#error "these are tests of the debug mode"
#endif

namespace terrace::stencil::test {

std::vector<double> unchecked_numbers(const Options& options);

namespace {

const Options k_serial{.executor = "serial", .threads = 1};

// A block of 6 x 4 points with a halo, and a faulty loop over it.
struct Checks : testing::Test {
  // Returns the reported violation, or an empty string.
  std::string found() {
    try {
      context.run();
    } catch (const std::logic_error& error) {
      return error.what();
    }
    return {};
  }
  template <class Kernel, class... Arguments>
  std::string found_in(Kernel kernel, Arguments... arguments) {
    block.loop("sweep", {{2, 3}, {1, 2}}, kernel, arguments...);
    return found();
  }

  Context context{k_serial};
  Block block = context.block("block", {6, 4});
  Halo halo{{-1, -1}, {1, 1}};
  Dataset<double> u = block.dataset<double>("u", halo);
  Dataset<double> v = block.dataset<double>("v", halo);
  Dataset<std::int32_t> n = block.dataset<std::int32_t>("n", halo);
  Line<double, 0> along_x{0, 6};
  Line<double, 1> along_y{0, 4};
};

const std::string k_where = "loop 'sweep', point (2, 1, 0), ";

TEST_F(Checks, OffsetOutsideStencil_IsReported) {
  EXPECT_EQ(found_in([](auto v, auto u) { v() = u(1, 1); }, write(v), read(u, star(2, 1))),
            k_where + "dataset 'u': the offset (1, 1, 0) is not in its stencil");
  EXPECT_EQ(found_in([](auto v, auto u) { v() = u(); }, write(v), read(u, Stencil{{-1}, {1}})),
            k_where + "dataset 'u': the offset (0, 0, 0) is not in its stencil");
  EXPECT_EQ(found_in([](auto u) { u() = u(0, -1) + 1; }, read_write(u, Stencil{{0, 1}})),
            k_where + "dataset 'u': the offset (0, -1, 0) is not in its stencil");
}

TEST_F(Checks, OffsetOfWriteOnlyDataset_IsReported) {
  EXPECT_EQ(found_in([](auto v) { v() = v(1) = 1; }, write(v)),
            k_where + "dataset 'v': the offset (1, 0, 0) is used, and it is written at the point alone");
  EXPECT_EQ(found_in([](auto n) { n(0, 0, 1) += 1; }, increment(n)),
            k_where + "dataset 'n': the offset (0, 0, 1) is not in its stencil");
}

TEST_F(Checks, UnwrittenDataset_IsReported) {
  EXPECT_EQ(found_in([](auto, auto u) { (void)u(); }, write(v), read(u)),
            k_where + "dataset 'v': it is not written");
  EXPECT_EQ(found_in(
                [](auto n, auto u) {
                  if (u() > 0) n() = 1;
                },
                write(n), read(u)),
            k_where + "dataset 'n': it is not written");
}

TEST_F(Checks, ReadOfWriteOnlyDataset_IsReported) {
  const auto is_read = "it is read at the offset (0, 0, 0), and declared as written only";
  EXPECT_EQ(found_in([](auto v) { v() += 1; }, write(v)), k_where + "dataset 'v': " + is_read);
  EXPECT_EQ(found_in([](auto n) { n() = n() / 2; }, write(n)), k_where + "dataset 'n': " + is_read);
  // Only inspected.
  EXPECT_EQ(found_in([](auto n) { n() = n() > 0 ? 1 : 2; }, write(n)), k_where + "dataset 'n': " + is_read);
  EXPECT_EQ(found_in([](auto v) { v() = std::max(v(), 0.0); }, write(v)), k_where + "dataset 'v': " + is_read);
  // The value read goes to another dataset, or to a reduction.
  EXPECT_EQ(found_in(
                [](auto u, auto n, auto v) {
                  u() = v() + 1;
                  n() = 1;
                  v() = 2;
                },
                write(u), write(n), write(v)),
            k_where + "dataset 'v': " + is_read);
  auto most = context.maximum<double>();
  EXPECT_EQ(found_in(
                [](auto v, auto most) {
                  most(v());
                  v() = 2;
                },
                write(v), into(most)),
            k_where + "dataset 'v': " + is_read);
}

// As a mirror boundary does.
TEST_F(Checks, UndeclaredReadOfOwnPoint_IsReported) {
  EXPECT_EQ(found_in([](auto u) { u() = u(1); }, read_write(u, Stencil{{1}})), "");
  EXPECT_EQ(found_in([](auto u) { u() = u(1) + u() + 1; }, read_write(u, Stencil{{1}})),
            k_where + "dataset 'u': it is read at the offset (0, 0, 0), and declared as written only");
  EXPECT_EQ(found_in([](auto u) { u() = u(1) + u(); }, read_write(u, Stencil{{0}, {1}})), "");
}

TEST_F(Checks, WriteAtAnotherPoint_IsReported) {
  const std::vector<double> numbers(u.range().points(), 1.5);
  u.set(u.range(), numbers);
  EXPECT_EQ(found_in([](auto u) { u(1) = u() + 1; }, read_write(u, Stencil{{0, 0}, {1, 0}})),
            k_where + "dataset 'u': it is written at the offset (1, 0, 0)");
}

TEST_F(Checks, IndexOutsideLine_IsReported) {
  block.loop(
      "sweep", block.range(), [](auto v, auto x) { v() = x(1); }, write(v), read(along_x));
  EXPECT_EQ(found(), "loop 'sweep', point (5, 0, 0), a line along x: the offset (1) leads to 6, it has 0..6");
  block.loop(
      "sweep", block.range(), [](auto v, auto y) { v() = y(-1); }, write(v), read(along_y));
  EXPECT_EQ(found(), "loop 'sweep', point (0, 0, 0), a line along y: the offset (-1) leads to -1, it has 0..4");
}

TEST_F(Checks, NondeterministicKernel_IsReported) {
  auto calls = 0.0;
  EXPECT_EQ(found_in([&calls](auto v) { v() = ++calls; }, write(v)),
            k_where + "the kernel gives other numbers when it is called again");
}

// The first violation ends the chain; later loops run.
TEST_F(Checks, LoopsAfterViolation_Run) {
  EXPECT_NE(found_in([](auto v) { v() += 1; }, write(v)), "");
  block.loop(
      "next", block.range(), [](auto v) { v() = 3; }, write(v));
  EXPECT_EQ(found(), "");
  EXPECT_EQ(v.get(Point{5, 3, 0}), 3);
}

// Violations on other threads, too.
TEST(ChecksOfThreads, ViolationOnAnyThread_IsReported) {
  for (const auto* const executor : {"parallel", "tiled"}) {
    Context context({.executor = executor, .threads = 3, .tile = {4, 4, 0}});
    const auto block = context.block("block", {16, 16});
    auto v = block.dataset<double>("v");
    block.loop(
        "sweep", block.range(),
        [](auto v, auto at) {
          v() = 1;
          if (at[0] == 7 && at[1] == 15) v() = v(1);
        },
        write(v), index());
    try {
      context.run();
      ADD_FAILURE() << executor;
    } catch (const std::logic_error& error) {
      EXPECT_STREQ(
          error.what(),
          "loop 'sweep', point (7, 15, 0), dataset 'v': the offset (1, 0, 0) is used, and it is written at "
          "the point alone");
    }
  }
}

TEST(ChecksOfCorrectPrograms, WithAndWithoutChecks_GiveSameValues) {
  for (const auto& options : {k_serial, Options{.executor = "parallel", .threads = 2},
                              Options{.executor = "tiled", .threads = 2, .tile = {4, 3, 2}}})
    EXPECT_EQ(numbers_of_all_kinds(options), unchecked_numbers(options)) << options.executor;
}

}  // namespace
}  // namespace terrace::stencil::test
