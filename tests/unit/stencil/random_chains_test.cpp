// Random chains: every executor, in tiles of every size, does what plain arrays do, to the last bit.
#include <gtest/gtest.h>

#include <set>

#include "core/error.hpp"
#include "random_chain.hpp"
#include "stencil/engine/engine.hpp"

namespace terrace::stencil::test {
namespace {

struct Results {
  std::vector<std::vector<double>> datasets;
  double sum = 0;
  double least = 0;
  double most = 0;
  friend bool operator==(const Results&, const Results&) = default;
};

class Ran {
 public:
  // So often, and what waits is run behind the loops whose numbers are in `ends`.
  Ran(const RandomProgram& program, const Options& options, int times = 1, const std::set<std::size_t>& ends = {})
      : engine_(options) {
    const auto block = engine_.add_block("block", program.size);
    for (std::size_t i = 0; i < program.halos.size(); ++i)
      engine_.add_dataset(block, "d" + std::to_string(i), sizeof(double), program.halos[i]);
    sum_ = engine_.add_reduction(ReductionKind::sum, Number::float64);
    least_ = engine_.add_reduction(ReductionKind::minimum, Number::float64);
    most_ = engine_.add_reduction(ReductionKind::maximum, Number::float64);
    for (int time = 0; time < times; ++time) {
      for (std::size_t l = 0; l < program.loops.size(); ++l) {
        engine_.add_loop(loop_of(program.loops[l]));
        if (ends.contains(l)) engine_.run();
      }
    }
  }
  [[nodiscard]] const Statistics& statistics() const { return engine_.statistics(); }
  Results results() {
    Results results;
    engine_.value_of(sum_, reinterpret_cast<std::byte*>(&results.sum));
    engine_.value_of(least_, reinterpret_cast<std::byte*>(&results.least));
    engine_.value_of(most_, reinterpret_cast<std::byte*>(&results.most));
    for (DatasetId id = 0; id < engine_.datasets(); ++id) {
      const auto range = engine_.about(id).range;
      std::vector<double> numbers(range.points());
      engine_.get(id, range, reinterpret_cast<std::byte*>(numbers.data()));
      results.datasets.push_back(std::move(numbers));
    }
    return results;
  }

 private:
  Loop loop_of(const RandomLoop& from) {
    auto loop = planned_loop(from);
    if (from.is_reduced) loop.reductions = {{sum_}, {least_}, {most_}};
    loop.body = [&from](const Call& call) {
      for (auto z = call.range.begin[2]; z < call.range.end[2]; ++z)
        for (auto y = call.range.begin[1]; y < call.range.end[1]; ++y) do_row(from, call, y, z);
    };
    return loop;
  }
  static void do_row(const RandomLoop& from, const Call& call, std::ptrdiff_t y, std::ptrdiff_t z) {
    for (auto x = call.range.begin[0]; x < call.range.end[0]; ++x) {
      const auto value = do_point(from, {x, y, z}, [&](std::size_t argument, const Point& offset) -> double& {
        const auto& view = call.views[argument];
        return reinterpret_cast<double*>(
            view.origin)[x + offset[0] + (y + offset[1]) * view.row + (z + offset[2]) * view.plane];
      });
      if (!from.is_reduced) continue;
      const auto row = partial_row(call.loop.range, y, z);
      reinterpret_cast<double*>(call.partials[0])[row] += value;
      auto& least = reinterpret_cast<double*>(call.partials[1])[row];
      auto& most = reinterpret_cast<double*>(call.partials[2])[row];
      least = std::min(least, value);
      most = std::max(most, value);
    }
  }

  Engine engine_;
  ReductionId sum_ = 0;
  ReductionId least_ = 0;
  ReductionId most_ = 0;
};

void expect_as_plain(const RandomProgram& program, const Results& results) {
  PlainData plain(program);
  for (const auto& loop : program.loops) plain.do_loop(loop);
  for (std::size_t i = 0; i < program.halos.size(); ++i) {
    const auto range = range_of(program, i);
    std::size_t at = 0;
    for (auto z = range.begin[2]; z < range.end[2]; ++z)
      for (auto y = range.begin[1]; y < range.end[1]; ++y)
        for (auto x = range.begin[0]; x < range.end[0]; ++x)
          ASSERT_EQ(results.datasets[i][at++], plain.at(i, {x, y, z}))
              << "dataset " << i << " at " << x << ' ' << y;
  }
  EXPECT_EQ(results.least, plain.least);
  EXPECT_EQ(results.most, plain.most);
  EXPECT_NEAR(results.sum, plain.total, 1e-9);
}

TEST(RandomChains, EveryExecutorDoesWhatPlainArraysDo) {
  for (int i = 0; i < random_chains(); ++i) {
    RandomMaker maker(static_cast<std::uint64_t>(i));
    const auto program = maker.make();
    const auto serial = Ran(program, {.executor = "serial"}).results();
    ASSERT_NO_FATAL_FAILURE(expect_as_plain(program, serial)) << "seed " << i;
    ASSERT_EQ(Ran(program, {.executor = "parallel", .threads = 3}).results(), serial) << "seed " << i;
    for (int tries = 0; tries < 3; ++tries) {
      Options options{.executor = "tiled", .threads = static_cast<unsigned>(maker.number(1, 3))};
      for (auto& points : options.tile) points = maker.number(0, 9);
      ASSERT_EQ(Ran(program, options).results(), serial)
          << "seed " << i << ", tiles " << options.tile[0] << 'x' << options.tile[1] << 'x' << options.tile[2];
    }
  }
}

// Data in a file, of which a small part is in memory: chunks of a page, several chains that come again and again.
TEST(RandomChains, StreamedFromAFileTheyDoTheSame) {
  double moved = 0;
  for (int i = 0; i < random_chains() / 6; ++i) {
    RandomMaker maker(static_cast<std::uint64_t>(i), 6);
    const auto program = maker.make();
    std::set<std::size_t> ends;
    for (std::size_t l = 0; l < program.loops.size(); ++l)
      if (maker.number(0, 3) == 0) ends.insert(l);
    const auto serial = Ran(program, {.executor = "serial"}, 3, ends).results();
    Options options{.executor = "streamed",
                    .threads = static_cast<unsigned>(maker.number(1, 3)),
                    .memory = static_cast<std::uint64_t>(maker.number(64, 200)) * 4096,
                    .folder = testing::TempDir()};
    for (auto& points : options.tile) points = maker.number(0, 6);
    try {
      Ran ran(program, options, 3, ends);
      ASSERT_EQ(ran.results(), serial) << "seed " << i << ", tiles " << options.tile[0] << 'x' << options.tile[1]
                                       << 'x' << options.tile[2] << ", memory " << options.memory;
      moved += ran.statistics().bytes_in + ran.statistics().bytes_out;
    } catch (const Error& error) {
      // A plane of each dataset may be more than there is memory.
      ASSERT_NE(std::string(error.what()).find(" is too little for a chain of "), std::string::npos)
          << error.what();
    }
  }
  EXPECT_GT(moved, 1e6);
}

}  // namespace
}  // namespace terrace::stencil::test
