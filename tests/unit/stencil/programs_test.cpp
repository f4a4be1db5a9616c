// The stencil programs at small sizes: every executor's results are as expected, and the same to the last bit.
#include <gtest/gtest.h>

#include "workloads/stencils/program.hpp"

namespace terrace::stencil::programs {
namespace {

class Program : public testing::TestWithParam<const StencilProgram*> {};

std::vector<Result> run(const StencilProgram& program, const Options& options) {
  Context context(options);
  Arguments arguments({});
  return program.run(context, arguments);
}

// At its default size, which takes a second or two at the most.
TEST_P(Program, ResultsAreAsExpectedWithEveryExecutor) {
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

INSTANTIATE_TEST_SUITE_P(All, Program, testing::ValuesIn(stencil_programs()),
                         [](const auto& program) { return std::string(program.param->name()); });

}  // namespace
}  // namespace terrace::stencil::programs
