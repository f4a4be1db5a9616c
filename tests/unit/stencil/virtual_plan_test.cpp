// Tests that virtual time cuts chains as the executor `streamed` does: random programs in equal memory.
#include <memory>
#include <string>
#include <utility>

#include "cut_chains.hpp"
#include "random_chain.hpp"
#include "stencil/engine/engine.hpp"
#include "stencil/execute/tile_size.hpp"
#include "stencil/virtual/virtual_run.hpp"
#include "terrace/stencil.hpp"

namespace terrace::stencil::test {
namespace {

TEST(VirtualPlan, RandomPrograms_AreCutAsByExecutor) {
  int had_room = 0, had_none = 0, steps = 0;
  for (std::uint64_t seed = 0; seed < 80; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomMaker maker(seed, 6);
    const auto program = maker.make();
    std::vector<DatasetInfo> infos;
    for (std::size_t i = 0; i < program.halos.size(); ++i) {
      infos.push_back(dataset(static_cast<DatasetId>(i), range_of(program, i)));
      infos.back().is_temporary = maker.number(0, 5) == 0;
    }
    Options options{.executor = "streamed", .threads = static_cast<unsigned>(maker.number(1, 3))};
    options.memory = static_cast<std::uint64_t>(maker.number(64, 1000)) * 4096;
    options.folder = testing::TempDir();
    Statistics statistics;
    const auto real = find_executor("streamed").make(options, statistics);
    auto tiers = make_tiers(static_cast<double>(options.memory), 1e9, 1e8, 1e9);
    tiers.cache = own_cache();
    tiers.threads = options.threads;
    const auto ours = mode("streamed", tiers, {});
    (compare_cuts(*real, *ours, infos, chain_of(program)) ? had_room : had_none) += 1;
    if (ours->cut().stream) steps += ours->cut().stream->steps.size() > 1 ? 1 : 0;
    if (HasFailure()) break;
  }
  EXPECT_GT(had_room, 50);
  EXPECT_GT(had_none, 0);
  EXPECT_GT(steps, 30);
}

// Chains of too many steps for the memory; values alternate between two datasets.
void long_chain(Context& context, int steps) {
  const auto block = context.block("block", {500, 80});
  const Halo around{{0, -1}, {0, 1}};
  const auto u = block.dataset<double>("u", around), v = block.dataset<double>("v", around);
  const Stencil stencil{{0, -1}, {0, 0}, {0, 1}};
  const auto mean = [](auto to, auto from) { to() = 0.25 * (from(0, -1) + 2 * from() + from(0, 1)); };
  for (int step = 0; step < steps; ++step) {
    block.loop("there", block.range(), mean, write(v), read(u, stencil));
    block.loop("back", block.range(), mean, write(u), read(v, stencil));
  }
  context.run();
}

TEST(VirtualPlan, TooLargeChains_AreSplitAsByExecutor) {
  constexpr std::uint64_t memory = 64 * 4096;
  for (const auto& [steps, is_cut] : {std::pair{2, false}, std::pair{40, true}, std::pair{90, true}}) {
    Context real(Options{.executor = "streamed", .threads = 2, .memory = memory, .folder = testing::TempDir()});
    long_chain(real, steps);
    auto tiers = make_tiers(static_cast<double>(memory), 1e9, 1e8, 1e9);
    tiers.cache = own_cache();
    tiers.threads = 2;
    const auto ours = mode("streamed", tiers, {});
    Context priced(std::make_unique<Engine>(Options{.executor = "virtual"}, make_virtual_executor(*ours)));
    long_chain(priced, steps);
    EXPECT_EQ(real.statistics().shortened_chains > 0, is_cut) << steps;
    EXPECT_EQ(priced.statistics().shortened_chains, real.statistics().shortened_chains) << steps;
    EXPECT_GT(ours->counts().seconds, 0) << steps;
  }
}

}  // namespace
}  // namespace terrace::stencil::test
