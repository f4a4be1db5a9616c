// Tests stencil programs on a fake GPU: results are as expected and bitwise equal to the processor's, with data
// that fit into GPU memory and data several times as large.
#include <gtest/gtest.h>

#include <map>
#include <ostream>
#include <string>

#include "fake_cuda/fake_cuda.hpp"
#include "workloads/stencils/program.hpp"

namespace terrace::stencil::programs {
namespace {

namespace fake_cuda = test::fake_cuda;

constexpr std::size_t k_page = 4096;

struct Case {
  std::string name;
  std::string program;
  std::map<std::string, std::string> arguments;
  std::size_t pages = 0;  // of device memory
  bool is_streamed = false;
};

void PrintTo(const Case& of, std::ostream* out) { *out << of.name; }

class GpuProgram : public testing::TestWithParam<Case> {};

TEST_P(GpuProgram, AnyMemory_MatchesProcessor) {
  const auto& of = GetParam();
  fake_cuda::reset(1, of.pages * k_page, k_page);
  const auto run = [&](Context& context) {
    Arguments arguments(of.arguments);
    return find_stencil_program(of.program).run(context, arguments);
  };
  Context plain({.executor = "serial"});
  const auto expected = run(plain);
  {
    Context context({.executor = "gpu", .memory = of.pages * k_page});
    const auto found = run(context);
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_EQ(found[i].value, expected[i].value) << found[i].name;
      EXPECT_TRUE(found[i].holds()) << found[i].name;
    }
    EXPECT_EQ(context.statistics().bytes_in + context.statistics().bytes_out > 0, of.is_streamed);
  }
  for (const auto& violation : fake_cuda::violations()) ADD_FAILURE() << violation;
  EXPECT_EQ(fake_cuda::left().size(), 0U);
}

INSTANTIATE_TEST_SUITE_P(
    All, GpuProgram,
    testing::Values(
        Case{"heat_2d", "heat", {}, 200, false},
        Case{"heat_3d", "heat", {{"dims", "3"}, {"cells", "28"}, {"steps", "8"}, {"chain", "2"}}, 64, true},
        Case{"jacobi", "jacobi", {{"cells", "120"}, {"iterations", "12"}}, 64, true},
        Case{"clover", "cloverleaf2d", {{"problem", "tp1"}}, 400, false},
        Case{"clover_streamed",
             "cloverleaf2d",
             {{"problem", "tp1"}, {"cells", "16x600"}, {"steps", "2"}},
             300,
             true}),
    [](const auto& of) { return of.param.name; });

}  // namespace
}  // namespace terrace::stencil::programs
