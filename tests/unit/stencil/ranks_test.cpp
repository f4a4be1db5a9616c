// Tests distributed execution with threads as ranks: results are bitwise equal to those of one rank.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "ran_program.hpp"
#include "random_chain.hpp"
#include "thread_ranks.hpp"

namespace terrace::stencil::test {
namespace {

struct RandomRun {
  RandomProgram program;
  std::set<std::size_t> ends;  // of chains
  std::size_t ranks = 0;
  Options options;
};

RandomRun random_run(int seed, const std::string& executor, std::ptrdiff_t larger) {
  RandomMaker maker(static_cast<std::uint64_t>(seed), larger);
  RandomRun run;
  run.program = maker.make();
  for (std::size_t l = 0; l < run.program.loops.size(); ++l)
    if (maker.number(0, 3) == 0) run.ends.insert(l);
  run.ranks = static_cast<std::size_t>(maker.number(2, 4));
  run.options.executor = executor;
  run.options.threads = executor == "serial" ? 1 : static_cast<unsigned>(maker.number(1, 2));
  run.options.depth = maker.number(0, 5);
  for (auto& points : run.options.tile) points = maker.number(0, 9);
  run.options.memory = static_cast<std::uint64_t>(maker.number(64, 200)) * 4096;
  run.options.folder = testing::TempDir();
  return run;
}

constexpr int k_times = 3;

// Returns rank 0's program.
Statistics expect_as_one_rank(const RandomRun& run) {
  const auto one = Ran(run.program, {.executor = "serial"}, k_times, run.ends).results();
  std::vector<Results> results(run.ranks);
  std::vector<Statistics> statistics(run.ranks);
  run_ranks(run.ranks, [&](std::unique_ptr<Ranks> ranks) {
    const auto rank = ranks->rank();
    Ran ran(run.program, run.options, k_times, run.ends, std::move(ranks));
    results[rank] = ran.results();
    statistics[rank] = ran.statistics();
  });
  for (std::size_t rank = 0; rank < run.ranks; ++rank) {
    EXPECT_EQ(results[rank].sum, one.sum) << "rank " << rank;
    EXPECT_EQ(results[rank].least, one.least) << "rank " << rank;
    EXPECT_EQ(results[rank].most, one.most) << "rank " << rank;
    EXPECT_TRUE(results[rank].datasets == one.datasets) << "rank " << rank;
    EXPECT_EQ(statistics[rank].exchanges, statistics[0].exchanges);
  }
  return statistics[0];
}

TEST(Ranks, RandomChains_MatchOneRank) {
  auto exchanges = 0;
  for (int seed = 0; seed < random_chains() / 2; ++seed)
    for (const auto* executor : {"serial", "tiled"}) {
      const auto run = random_run(seed, executor, 1 + seed % 3);
      exchanges += static_cast<int>(expect_as_one_rank(run).exchanges);
      ASSERT_FALSE(HasFailure()) << "seed " << seed << ", " << executor << ", " << run.ranks << " ranks, depth "
                                 << run.options.depth;
    }
  EXPECT_GT(exchanges, random_chains());
}

class StreamedRanks : public testing::TestWithParam<std::string_view> {};

TEST_P(StreamedRanks, RandomChains_MatchOneRank) {
  double moved = 0;
  for (int seed = 0; seed < random_chains() / 4; ++seed) {
    const auto run = random_run(seed, std::string(GetParam()), 6);
    try {
      const auto statistics = expect_as_one_rank(run);
      moved += statistics.bytes_in + statistics.bytes_out;
    } catch (const Error& error) {
      // One plane of each dataset may exceed the memory.
      ASSERT_NE(std::string(error.what()).find(" is too little for a chain of "), std::string::npos)
          << error.what();
    }
    ASSERT_FALSE(HasFailure()) << "seed " << seed << ", " << run.ranks << " ranks, depth " << run.options.depth;
  }
  EXPECT_GT(moved, 1e6);
}

INSTANTIATE_TEST_SUITE_P(Places, StreamedRanks, testing::Values("streamed", HostVariant::k_name),
                         [](const auto& info) { return info.index == 0 ? "Files" : "Memory"; });

// --- how much is exchanged ---

constexpr std::ptrdiff_t k_width = 12;
constexpr std::ptrdiff_t k_height = 64;

// Runs `chains` chains of Jacobi sweeps with a right side. Returns the statistics of each rank.
std::vector<Statistics> sweep(std::size_t size, const Options& options, int chains, int sweeps) {
  std::vector<Statistics> statistics(size);
  std::vector<std::vector<double>> results(size + 1);
  const auto run = [&](Context& context) {
    const auto grid = context.block("grid", {k_width, k_height});
    auto u = grid.dataset<double>("u", {{-1, -1}, {1, 1}});
    auto next = grid.dataset<double>("next", {{-1, -1}, {1, 1}});
    auto f = grid.dataset<double>("f");
    const auto start = [](auto u, auto at) { u() = static_cast<double>((7 * at[0] + 5 * at[1]) % 11); };
    grid.loop("start", u.range(), start, write(u), index());
    grid.loop("start", u.range(), start, write(next), index());
    grid.loop("start", f.range(), start, write(f), index());
    context.run();
    for (int chain = 0; chain < chains; ++chain) {
      for (int i = 0; i < sweeps; ++i) {
        grid.loop(
            "sweep", grid.range(),
            [](auto next, auto u, auto f) { next() = 0.25 * (u(-1, 0) + u(1, 0) + u(0, -1) + u(0, 1) - f()); },
            write(next), read(u, star(2, 1)), read(f));
        std::swap(u, next);
      }
      context.run();
    }
    return u.get(u.range());
  };
  Context alone({.executor = "serial"});
  const auto expected = run(alone);
  run_ranks(size, [&](std::unique_ptr<Ranks> ranks) {
    const auto rank = ranks->rank();
    Context context(std::make_unique<Engine>(options, std::move(ranks)));
    results[rank] = run(context);
    statistics[rank] = context.statistics();
  });
  for (std::size_t rank = 0; rank < size; ++rank) EXPECT_TRUE(results[rank] == expected) << "rank " << rank;
  return statistics;
}

TEST(Ranks, Chain_ExchangesChangedDatasetsOnce) {
  constexpr int k_chains = 5;
  constexpr int k_sweeps = 8;
  // Expected: eight layers of u with the columns at its sides. The other dataset is written before it is read,
  // except for seven layers of these columns. f does not change: it is exchanged once, as deep as the first
  // sweep reads.
  constexpr double k_each = 8.0 * (8 * (k_width + 2) + 7 * 2);
  constexpr double k_once = 8.0 * 7 * k_width;
  for (const auto* executor : {"serial", "tiled"}) {
    const auto statistics = sweep(4, {.executor = executor, .threads = 1}, k_chains, k_sweeps);
    for (std::size_t rank = 0; rank < 4; ++rank) {
      const auto neighbours = rank == 0 || rank == 3 ? 1U : 2U;
      EXPECT_EQ(statistics[rank].exchanges, k_chains);
      EXPECT_EQ(statistics[rank].messages, k_chains * neighbours);
      EXPECT_EQ(statistics[rank].exchanged_bytes, neighbours * (k_chains * k_each + k_once));
      // 7 + 6 + ... + 0 rows of three datasets, at each side.
      EXPECT_EQ(statistics[rank].redundant_bytes, k_chains * neighbours * 28.0 * k_width * 24);
    }
  }
}

TEST(Ranks, TooDeepChain_RunsInPieces) {
  EXPECT_EQ(sweep(4, {.executor = "tiled", .threads = 1, .depth = 2}, 3, 8)[1].exchanges, 3 * 4);
  EXPECT_EQ(sweep(4, {.executor = "tiled", .threads = 1}, 1, 40)[1].exchanges, 8);
  EXPECT_EQ(sweep(4, {.executor = "tiled", .threads = 1, .depth = 40}, 1, 40)[1].exchanges, 1);
}

TEST(Ranks, LoopReadingBeyondNeighbour_MatchesOneRank) {
  const auto run = [](Context& context) {
    const auto grid = context.block("grid", {3, 8});
    const auto a = grid.dataset<double>("a", {{0, -5}, {0, 5}});
    const auto b = grid.dataset<double>("b");
    for (int i = 0; i < 3; ++i) {
      grid.loop(
          "a", a.range(), [](auto a, auto at) { a() += static_cast<double>(at[0] + at[1] * at[1]); },
          read_write(a), index());
      context.run();
      grid.loop(
          "b", grid.range(), [](auto b, auto a) { b() = a(0, -5) + 3 * a(0, 5); }, write(b),
          read(a, Stencil{{0, -5}, {0, 5}}));
      context.run();
    }
    return b.get(grid.range());
  };
  Context alone({.executor = "serial"});
  const auto expected = run(alone);
  for (const std::size_t size : {2, 4, 8, 11})
    run_ranks(size, [&](std::unique_ptr<Ranks> ranks) {
      Context context(std::make_unique<Engine>(Options{.executor = "serial"}, std::move(ranks)));
      EXPECT_EQ(run(context), expected);
    });
}

// --- what else a program asks for ---

// A temporary is written in one piece of a chain and read in the next.
TEST(Ranks, TemporaryAcrossPieces_IsKept) {
  const auto run = [](Context& context) {
    const auto grid = context.block("grid", {500, 300});
    const auto a = grid.dataset<double>("a", {{0, -1}, {0, 1}});
    const auto t = grid.temporary<double>("t", {{0, -1}, {0, 1}});
    grid.loop(
        "a", a.range(), [](auto a, auto at) { a() = static_cast<double>(at[0] * at[1] % 13); }, write(a), index());
    for (int chain = 0; chain < 3; ++chain) {
      for (int i = 0; i < 2; ++i) {
        grid.loop(
            "walls", t.range(), [](auto t) { t() = 1; }, write(t));
        grid.loop(
            "there", grid.range(), [](auto t, auto a) { t() = a(0, -1) + 0.5 * a(0, 1); }, write(t),
            read(a, Stencil{{0, -1}, {0, 1}}));
        grid.loop(
            "back", grid.range(), [](auto a, auto t) { a() = t(0, -1) - 0.5 * t(0, 1); }, write(a),
            read(t, Stencil{{0, -1}, {0, 1}}));
      }
      context.run();
    }
    return a.get(a.range());
  };
  Context alone({.executor = "serial"});
  const auto expected = run(alone);
  for (const std::ptrdiff_t depth : {0, 1}) {
    std::vector<Context> contexts(2);
    run_ranks(2, [&](std::unique_ptr<Ranks> ranks) {
      auto& context = contexts[ranks->rank()];
      const Options options{.executor = "streamed",
                            .threads = 1,
                            .tile = {0, 4, 0},
                            .memory = 80 * 4096,
                            .folder = testing::TempDir(),
                            .depth = depth};
      context = Context(std::unique_ptr<Engine>(make_engine(options, std::move(ranks)).release()));
      EXPECT_TRUE(run(context) == expected) << "depth " << depth;
    });
  }
}

TEST(Ranks, SetAndGet_CoverWholeDataset) {
  const auto run = [](Context& context) {
    const auto grid = context.block("grid", {5, 6, 7});
    auto a = grid.dataset<float>("a", {{0, -1, -2}, {0, 1, 3}});
    EXPECT_EQ(a.range(), (Range{{0, 5}, {-1, 7}, {-2, 10}}));
    EXPECT_EQ(a.get({4, 6, 9}), 0.0F);  // nothing is stored yet
    std::vector<float> numbers(a.range().points());
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i);
    a.set(a.range(), numbers);
    EXPECT_EQ(a.get(a.range()), numbers);
    const auto b = grid.dataset<float>("b");
    const auto blur = [&] {
      grid.loop(
          "blur", grid.range(), [](auto b, auto a) { b() = a(0, -1, 0) + a(0, 1, 0) + a(0, 0, -2) + a(0, 0, 3); },
          write(b), read(a, Stencil{{0, -1, 0}, {0, 1, 0}, {0, 0, -2}, {0, 0, 3}}));
    };
    blur();
    auto all = b.get(grid.range());
    // Reads a part again, after the exchange of the whole.
    const Range part{{1, 3}, {2, 5}, {3, 4}};
    a.set(part, std::vector<float>(part.points(), 1e6F));
    blur();
    for (const auto number : b.get(grid.range())) all.push_back(number);
    for (const auto number : a.get(Range{{1, 2}, {0, 6}, {-1, 5}})) all.push_back(number);
    all.push_back(a.get({2, 2, 3}));
    return all;
  };
  Context alone({.executor = "serial"});
  const auto expected = run(alone);
  EXPECT_EQ(expected.back(), 1e6F);
  for (std::size_t size = 1; size <= 6; ++size)
    run_ranks(size, [&](std::unique_ptr<Ranks> ranks) {
      Context context(std::make_unique<Engine>(Options{.executor = "tiled", .threads = 1}, std::move(ranks)));
      EXPECT_EQ(run(context), expected);
    });
}

// Blocks of one and of three dimensions in a chain, results of all types, loops without a dataset.
TEST(Ranks, Reductions_MatchOneRank) {
  const auto run = [](Context& context) {
    const auto line = context.block("line", {37});
    const auto grid = context.block("grid", {3, 13, 9});
    auto sum = context.sum<float>();
    auto count = context.sum<std::int64_t>();
    auto least = context.minimum<double>();
    auto most = context.maximum<std::int32_t>();
    const auto a = grid.dataset<double>("a");
    const auto b = line.dataset<std::int32_t>("b");
    std::vector<double> all;
    for (int i = 0; i < 3; ++i) {
      line.loop(
          "b", line.range(), [i](auto b, auto at) { b() = static_cast<std::int32_t>(at[0] * (7 - i) % 31); },
          write(b), index());
      grid.loop(
          "a", grid.range(),
          [i](auto a, auto sum, auto at) {
            a() = 1.0 / static_cast<double>(1 + at[0] + 3 * at[1] + i * at[2]);
            sum += static_cast<float>(a());
          },
          write(a), into(sum), index());
      grid.loop(
          "least", Range{{0, 3}, {1, 12}, {2, 3}}, [](auto a, auto least) { least(-a()); }, read(a), into(least));
      line.loop(
          "most", line.range(), [](auto b, auto most) { most(b()); }, read(b), into(most));
      grid.loop(
          "count", grid.range(), [](auto count, auto at) { count += at[1] * at[2]; }, into(count), index());
      grid.loop(
          "none", Range{{0, 0}, {0, 13}, {0, 9}}, [](auto count) { count += 1; }, into(count));
      for (const auto number : {double(sum.value()), double(count.value()), least.value(), double(most.value())})
        all.push_back(number);
    }
    return all;
  };
  Context alone({.executor = "serial"});
  const auto expected = run(alone);
  for (std::size_t size = 1; size <= 6; ++size)
    run_ranks(size, [&](std::unique_ptr<Ranks> ranks) {
      Context context(std::make_unique<Engine>(Options{.executor = "serial"}, std::move(ranks)));
      EXPECT_EQ(run(context), expected) << size << " ranks";
    });
}

// Chains with equal ranges and accesses share a plan, whatever their kernels and results.
TEST(Ranks, RepeatedChain_UsesItsOwnKernels) {
  run_ranks(3, [&](std::unique_ptr<Ranks> ranks) {
    Context context(std::make_unique<Engine>(Options{.executor = "serial"}, std::move(ranks)));
    const auto grid = context.block("grid", {4, 9});
    auto sum = context.sum<double>();
    auto least = context.minimum<double>();
    for (int i = 1; i <= 4; ++i) {
      const auto name = "loop " + std::to_string(i);
      if (i % 2 == 1)
        grid.loop(
            name, grid.range(), [i](auto into) { into += i; }, into(sum));
      else
        grid.loop(
            name, grid.range(), [i](auto into) { into(i); }, into(least));
      context.run();
    }
    EXPECT_EQ(sum.value(), 36 * (1 + 3));
    EXPECT_EQ(least.value(), 2);
    EXPECT_EQ(context.statistics().by_loop.size(), 4);
  });
}

}  // namespace
}  // namespace terrace::stencil::test
