// The debug mode: what a kernel does beside what its loop says ends the chain and is named; what it says it may
// do.
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "terrace/stencil.hpp"

namespace terrace::stencil::test {
namespace {

class Checks : public testing::TestWithParam<const char*> {
 protected:
  // A loop over a range in the middle of the dataset; the error that ends it, or "".
  template <class Kernel, class... Arguments>
  std::string error_of(Kernel kernel, Arguments... arguments) {
    grid_.loop("loop", range_, kernel, arguments...);
    try {
      context_.run();
    } catch (const std::logic_error& error) {
      return error.what();
    }
    return "";
  }

  Context context_{Options{.executor = GetParam(), .threads = 2, .memory = 1U << 20U}};
  Block grid_ = context_.block("grid", {8, 6});
  Dataset<double> u_ = grid_.dataset<double>("u");
  Dataset<double> v_ = grid_.dataset<double>("v");
  Dataset<std::int32_t> count_ = grid_.dataset<std::int32_t>("count");
  Range range_{{2, 3}, {2, 4}};
};

TEST_P(Checks, LetAKernelDoWhatItsLoopSays) {
  EXPECT_EQ(
      error_of([](auto u, auto v) { v() = u(1, 0) + u(0, -1); }, read(u_, Stencil{{1, 0}, {0, -1}}), write(v_)),
      "");
  EXPECT_EQ(error_of([](auto u) { u() = 2 * u() + 1; }, read_write(u_)), "");
  EXPECT_EQ(error_of([](auto u) { u() += 1; }, increment(u_)), "");
  EXPECT_EQ(error_of([](auto c) { c() = 0; }, write(count_)), "");
  // The image of a mirror, one column further: the own point is written and not read.
  EXPECT_EQ(error_of([](auto u) { u() = u(1, 0); }, read_write(u_, Stencil{{1, 0}})), "");
}

TEST_P(Checks, NameAnOffsetThatIsNotDeclared) {
  EXPECT_NE(error_of([](auto u, auto v) { v() = u(1, 0) + u(0, 1); }, read(u_, Stencil{{1, 0}}), write(v_))
                .find("loop 'loop', point (2, 2, 0), dataset 'u': the offset (0, 1, 0) is not in its stencil"),
            std::string::npos);
  EXPECT_NE(error_of([](auto u, auto v) { v() = u(); }, read(u_, Stencil{{1, 0}}), write(v_))
                .find("the offset (0, 0, 0) is not in its stencil"),
            std::string::npos);
  EXPECT_NE(
      error_of([](auto v) { v() = v(-1, 0); }, write(v_)).find("the offset (-1, 0, 0) is not in its stencil"),
      std::string::npos);
}

TEST_P(Checks, NameAPointThatIsReadThoughItIsWrittenOnly) {
  const std::string text = "dataset 'v': it is not written, or made of what was there and is not to be read";
  EXPECT_NE(error_of([](auto v) { v() += 1; }, write(v_)).find(text), std::string::npos);
  EXPECT_NE(error_of([](auto v) { v() = v() + v(1, 0); }, read_write(v_, Stencil{{1, 0}})).find(text),
            std::string::npos);
}

TEST_P(Checks, NameAPointThatIsNotWritten) {
  EXPECT_NE(error_of(
                [](auto u, auto v) {
                  if (u() > 0) v() = 1;
                },
                read(u_), write(v_))
                .find("dataset 'v': it is not written"),
            std::string::npos);
}

TEST_P(Checks, NameAChangeAtAnotherPoint) {
  EXPECT_NE(error_of(
                [](auto u) {
                  u() = 1;
                  u(1, 0) = 1;
                },
                read_write(u_, Stencil{{1, 0}}))
                .find("dataset 'u': the offset (1, 0, 0) was written"),
            std::string::npos);
}

// What went wrong ends its chain, and not what comes after it.
TEST_P(Checks, LeaveAContextThatGoesOn) {
  EXPECT_NE(error_of([](auto v) { v() += 1; }, write(v_)), "");
  EXPECT_TRUE(context_.waiting().empty());
  EXPECT_EQ(error_of([](auto v) { v() = 7; }, write(v_)), "");
  EXPECT_EQ(v_.get(Point{2, 3, 0}), 7);
}

INSTANTIATE_TEST_SUITE_P(All, Checks, testing::Values("serial", "parallel", "tiled", "streamed"),
                         [](const auto& executor) { return std::string(executor.param); });

}  // namespace
}  // namespace terrace::stencil::test
