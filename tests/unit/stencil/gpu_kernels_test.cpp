// Tests what nvcc compiles of a program (terrace/stencil/gpu.hpp), with the host's compiler and fakes of CUDA: kernels
// get all kinds of arguments at the right points, and reductions are bitwise equal to the processor's.
// clang-format off: the fake must be included first, since it selects the target
#include "fake_cuda/cuda_runtime.h"
// clang-format on

#include <gtest/gtest.h>

#include <string>

#include "all_kinds.hpp"
#include "rows.hpp"

#ifndef TERRACE_STENCIL_GPU
#error "these are tests of what nvcc compiles"
#endif

namespace terrace::stencil::test {

std::vector<double> processor_numbers_of_all_kinds(const Options& options);
std::vector<double> processor_numbers_of_rows(const Options& options);

namespace {

const Options k_serial{.executor = "serial", .threads = 1};
constexpr std::size_t k_page = 4096;

struct GpuKernels : testing::Test {
  void SetUp() override { fake_cuda::reset(1, 1000 * k_page, k_page); }
  void TearDown() override {
    fake_launch_error = cudaSuccess;
    for (const auto& violation : fake_cuda::violations()) ADD_FAILURE() << violation;
    EXPECT_EQ(fake_cuda::left().size(), 0U);
  }
};

TEST_F(GpuKernels, AllKindsOfArguments_MatchProcessor) {
  const auto expected = processor_numbers_of_all_kinds(k_serial);
  EXPECT_EQ(numbers_of_all_kinds({.executor = "gpu", .memory = 300 * k_page}), expected);
  EXPECT_EQ(numbers_of_all_kinds({.executor = "gpu", .tile = {0, 0, 2}, .memory = 300 * k_page}), expected);
}

// Rows that are shorter and longer than a warp, in parts and whole.
TEST_F(GpuKernels, RowOfAnyLength_ReducesInOrder) {
  const auto expected = processor_numbers_of_rows(k_serial);
  EXPECT_EQ(numbers_of_rows({.executor = "gpu", .memory = 300 * k_page}), expected);
  EXPECT_EQ(numbers_of_rows({.executor = "gpu", .tile = {7, 2, 1}, .memory = 300 * k_page}), expected);
}

TEST_F(GpuKernels, LaunchFailure_NamesLoop) {
  Context context({.executor = "gpu", .memory = 300 * k_page});
  const auto block = context.block("block", {8, 6});
  const auto u = block.dataset<double>("u");
  block.loop(
      "start", block.range(), [](auto to) { to() = 1; }, write(u));
  fake_launch_error = 701;
  try {
    context.run();
    ADD_FAILURE() << "it is launched";
  } catch (const std::runtime_error& error) {
    EXPECT_EQ(std::string(error.what()),
              "loop 'start': its kernel cannot be launched: too many resources requested for launch: compile it "
              "for this GPU (nvcc -arch, -maxrregcount), or set another executor=");
  }
}

TEST_F(GpuKernels, OtherExecutor_Throws) {
  Context context(k_serial);
  const auto block = context.block("block", {8, 6});
  const auto u = block.dataset<double>("u");
  block.loop(
      "start", block.range(), [](auto to) { to() = 1; }, write(u));
  try {
    context.run();
    ADD_FAILURE() << "it runs";
  } catch (const std::logic_error& error) {
    EXPECT_EQ(
        std::string(error.what()),
        "loop 'start' was compiled for a GPU only: run it with executor=gpu, or compile the program without nvcc");
  }
}

}  // namespace
}  // namespace terrace::stencil::test
