// Tests random chains: every executor, with tiles of every size, is bitwise equal to plain arrays.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <set>

#include "core/error.hpp"
#include "ran_program.hpp"
#include "random_chain.hpp"
#include "stencil/plan/chain_use.hpp"

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

TEST(RandomChains, EveryExecutor_MatchesPlainArrays) {
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

// Out-of-core execution: chunks of one page, several repeated chains. The memory is a fraction of what chains
// use, so nearly all programs stream. One in four has wide planes.
class StreamedChains : public testing::TestWithParam<std::string_view> {};

constexpr std::uint64_t k_page = 4096, k_min_pages = 64;

// Bytes that a program writes; and those of them that a repetition reads before writing them.
struct UsedPages {
  std::uint64_t written = 0;
  std::uint64_t carried = 0;
};
UsedPages used_pages(const RandomProgram& program) {
  UsedPages points;
  for (const auto& [dataset, use] : uses_of(chain_of(program)))
    for (const auto& written : use.written.all()) {
      points.written += written.points();
      for (const auto& needed : use.needed.all())
        if (const auto both = intersection(needed, written); !both.empty()) points.carried += both.points();
    }
  constexpr auto k_points = k_page / sizeof(double);
  return {points.written / k_points, points.carried / k_points};
}

// Its data exceed the smallest memory, and part of them moves at every repetition.
RandomProgram large_program(RandomMaker& maker) {
  return maker.make([](const RandomProgram& program) {
    const auto used = used_pages(program);
    return used.written >= 2 * k_min_pages && used.carried >= k_min_pages;
  });
}

TEST_P(StreamedChains, AnyMemory_MatchesPlainArrays) {
  int count = 0, both_ways = 0, shortened = 0, whole = 0;
  for (; count < random_chains() / 12; ++count) {
    RandomMaker maker(static_cast<std::uint64_t>(count), count % 4 == 0 ? 3 : 1);
    const auto program = large_program(maker);
    std::set<std::size_t> ends;
    for (std::size_t l = 0; l < program.loops.size(); ++l)
      if (maker.number(0, 3) == 0) ends.insert(l);
    const auto serial = Ran(program, {.executor = "serial"}, 3, ends).results();
    Options options{.executor = std::string(GetParam()),
                    .threads = static_cast<unsigned>(maker.number(1, 3)),
                    .folder = testing::TempDir()};
    for (std::size_t d = 0; d < program.size.size(); ++d)
      options.tile[d] = maker.number(0, 6) * std::max<std::ptrdiff_t>(program.size[d] / 200, 1);
    const auto pages = static_cast<std::ptrdiff_t>(used_pages(program).written);
    auto memory = std::max<std::ptrdiff_t>(k_min_pages, pages * maker.number(2, 7) / 10);
    for (auto has_run = false; !has_run; memory += memory / 8) {
      options.memory = static_cast<std::uint64_t>(memory) * k_page;
      try {
        Ran ran(program, options, 3, ends);
        const auto statistics = ran.statistics();
        ASSERT_EQ(ran.results(), serial)
            << "seed " << count << ", tiles " << options.tile[0] << 'x' << options.tile[1] << 'x'
            << options.tile[2] << ", memory " << options.memory;
        has_run = true;
        both_ways += statistics.bytes_in > 0 && statistics.bytes_out > 0 ? 1 : 0;
        ++(statistics.shortened_chains > 0 ? shortened : whole);
      } catch (const Error& error) {
        // One plane of each dataset of a single loop may exceed the memory.
        ASSERT_NE(std::string(error.what()).find(" is too little for a chain of 1 loops"), std::string::npos)
            << error.what();
      }
    }
  }
  std::printf("%d of %d programs were moved to memory and back, %d of them in shorter chains\n", both_ways, count,
              shortened);
  EXPECT_GE(both_ways, count * 17 / 20);
  EXPECT_GE(whole, count / 4);
  EXPECT_GE(shortened, count >= 50 ? 1 : 0);
}

INSTANTIATE_TEST_SUITE_P(Places, StreamedChains, testing::Values("streamed", HostVariant::k_name),
                         [](const auto& tested) { return tested.index == 0 ? "File" : "Memory"; });

}  // namespace
}  // namespace terrace::stencil::test
