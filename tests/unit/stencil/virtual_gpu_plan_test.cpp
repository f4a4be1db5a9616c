// Tests that virtual time cuts chains as the executor `gpu` does, on a fake GPU.
#include "cut_chains.hpp"
#include "fake_cuda/fake_cuda.hpp"

namespace terrace::stencil::test {
namespace {

TEST(VirtualGpuPlan, SameChains_AreCutAsByExecutor) {
  constexpr std::size_t granularity = std::size_t{2} << 20U, memory = 64 * granularity;
  fake_cuda::reset(1, 2 * memory, granularity);
  constexpr std::ptrdiff_t row = 4096, rows = 1500;
  std::vector<DatasetInfo> infos;
  for (DatasetId id = 0; id < 4; ++id) infos.push_back(dataset(id, {{0, row}, {0, rows}}));
  infos[3].is_temporary = true;
  // Each loop reads the previous one's output in adjacent rows; 60 loops need more rows at once than fit.
  for (const int loops : {2, 6, 60}) {
    Chain chain;
    for (int i = 0; i < loops; ++i) {
      const auto to = static_cast<DatasetId>((3 + i) % 4), from = static_cast<DatasetId>((2 + i) % 4);
      chain.push_back(loop({{0, row}, {20, rows - 20}},
                           {argument(from, Access::read, {0, -20, 0}, {0, 20, 0}), argument(to, Access::write)}));
    }
    chain.insert(chain.begin(), loop({{0, row}, {0, rows}}, {argument(3, Access::write)}));
    Statistics statistics;
    const auto real = find_executor("gpu").make({.executor = "gpu", .memory = memory}, statistics);
    auto tiers = make_tiers(static_cast<double>(memory), 1e9, 1e8, 1e9);
    tiers.is_gpu = true;
    const auto ours = mode("streamed", tiers, {});
    EXPECT_EQ(compare_cuts(*real, *ours, infos, chain), loops < 60);
    if (loops < 60) {
      EXPECT_GE(ours->cut().stream->steps.size(), 4);
    }
  }
  EXPECT_TRUE(fake_cuda::violations().empty());
}

}  // namespace
}  // namespace terrace::stencil::test
