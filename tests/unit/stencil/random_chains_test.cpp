// Random chains: every executor, in tiles of every size, does what plain arrays do, to the last bit.
#include <gtest/gtest.h>

#include <set>

#include "core/error.hpp"
#include "ran_program.hpp"
#include "random_chain.hpp"

namespace terrace::stencil::test {
namespace {

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

// Data in a slow place, of which a small part is in memory: chunks of a page, several chains that come again and
// again.
class StreamedChains : public testing::TestWithParam<std::string_view> {};

TEST_P(StreamedChains, DoTheSame) {
  double moved = 0;
  for (int i = 0; i < random_chains() / 6; ++i) {
    RandomMaker maker(static_cast<std::uint64_t>(i), 6);
    const auto program = maker.make();
    std::set<std::size_t> ends;
    for (std::size_t l = 0; l < program.loops.size(); ++l)
      if (maker.number(0, 3) == 0) ends.insert(l);
    const auto serial = Ran(program, {.executor = "serial"}, 3, ends).results();
    Options options{.executor = std::string(GetParam()),
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

INSTANTIATE_TEST_SUITE_P(Places, StreamedChains, testing::Values("streamed", HostVariant::k_name),
                         [](const auto& about) { return about.index == 0 ? "File" : "Memory"; });

}  // namespace
}  // namespace terrace::stencil::test
