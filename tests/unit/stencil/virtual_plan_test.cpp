// Virtual time cuts chains as the executor cuts them that streams: random programs, in as much memory.
#include <string>

#include "cut_chains.hpp"
#include "random_chain.hpp"
#include "stencil/execute/tile_size.hpp"

namespace terrace::stencil::test {
namespace {

TEST(VirtualPlan, IsTheExecutors) {
  int had_room = 0, had_none = 0, steps = 0;
  for (std::uint64_t seed = 0; seed < 80; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomMaker maker(seed, 6);
    const auto program = maker.make();
    std::vector<DatasetAbout> abouts;
    for (std::size_t i = 0; i < program.halos.size(); ++i) {
      abouts.push_back(dataset(static_cast<DatasetId>(i), range_of(program, i)));
      abouts.back().is_temporary = maker.number(0, 5) == 0;
    }
    Options options{.executor = "streamed", .threads = static_cast<unsigned>(maker.number(1, 3))};
    options.memory = static_cast<std::uint64_t>(maker.number(64, 1000)) * 4096;
    options.folder = testing::TempDir();
    Statistics statistics;
    const auto real = find_executor("streamed").make(options, statistics);
    auto pair = pair_with(static_cast<double>(options.memory), 1e9, 1e8, 1e9);
    pair.cache = own_cache();
    pair.threads = options.threads;
    const auto ours = mode("streamed", pair, {});
    (compare_cuts(*real, *ours, abouts, chain_of(program)) ? had_room : had_none) += 1;
    if (ours->cut().stream) steps += ours->cut().stream->steps.size() > 1 ? 1 : 0;
    if (HasFailure()) break;
  }
  EXPECT_GT(had_room, 50);
  EXPECT_GT(had_none, 0);
  EXPECT_GT(steps, 30);
}

}  // namespace
}  // namespace terrace::stencil::test
