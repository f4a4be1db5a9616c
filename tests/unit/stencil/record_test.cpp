// Tests recorded plans against the plans themselves, against the engine's statistics, and against the loops of
// random programs, point by point.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "child.hpp"
#include "core/error.hpp"
#include "points.hpp"
#include "ran_program.hpp"
#include "stencil/record/plan_record.hpp"
#include "thread_ranks.hpp"

namespace terrace::stencil::test {
namespace {

using Json = nlohmann::json;

Range hull_of(const Chain& chain) {
  Range all{{0, 0}, {0, 0}, {0, 0}};
  for (const auto& loop : chain) all = hull(all, loop.range);
  return all;
}

// Decodes where parts begin and end, in tile order, as the header defines it.
std::vector<std::ptrdiff_t> cuts(const std::vector<EdgeRun>& runs, std::ptrdiff_t size, std::ptrdiff_t first,
                                 std::ptrdiff_t begin, std::ptrdiff_t end) {
  std::vector<std::ptrdiff_t> found{begin};
  for (const auto& run : runs)
    for (std::size_t i = 0; i < run.tiles; ++i)
      found.push_back(
          std::clamp(first + static_cast<std::ptrdiff_t>(found.size()) * size + run.ahead, begin, end));
  found.push_back(end);
  return found;
}

TEST(EdgeRuns, RandomPlans_DecodeToPartEnds) {
  for (int i = 0; i < random_chains(); ++i) {
    SCOPED_TRACE("seed " + std::to_string(i));
    RandomMaker maker(static_cast<std::uint64_t>(i));
    auto program = maker.make();
    for (auto& loop : program.loops)
      if (maker.number(0, 19) == 0) loop.range.end = loop.range.begin;
    const auto chain = chain_of(program);
    const auto all = hull_of(chain);
    std::array<std::ptrdiff_t, k_max_dims> size;
    std::array<bool, k_max_dims> reversed;
    for (std::size_t d = 0; d < k_max_dims; ++d) {
      size[d] = maker.number(0, 9);
      reversed[d] = maker.number(0, 1) == 1;
    }
    const TilePlan plan(chain, size, reversed);
    for (std::size_t l = 0; l < chain.size(); ++l)
      for (std::size_t d = 0; d < k_max_dims; ++d) {
        const auto& range = chain[l].range;
        const auto runs = edge_runs(plan, all, range, l, d);
        const auto back = reversed[d];
        const auto found = cuts(runs, size[d], back ? -all.end[d] : all.begin[d],
                                back ? -range.end[d] : range.begin[d], back ? -range.begin[d] : range.end[d]);
        ASSERT_EQ(found.size(), plan.tiles()[d] + 1);
        for (std::size_t t = 0; t < plan.tiles()[d]; ++t) {
          std::array<std::size_t, k_max_dims> tile{0, 0, 0};
          tile[d] = t;
          const auto part = plan.part(l, tile);
          ASSERT_EQ(part.begin[d], back ? -found[t + 1] : found[t]) << "loop " << l << ", tile " << t;
          ASSERT_EQ(part.end[d], back ? -found[t] : found[t + 1]) << "loop " << l << ", tile " << t;
        }
      }
  }
}

// For alike loops all interior tiles are in one run, whatever their number.
TEST(EdgeRuns, AlikeLoops_GiveFewRuns) {
  Chain chain;
  for (DatasetId i = 0; i < 8; ++i) {
    const auto stencil = star(1, 1);
    Loop loop{"sweep", 0, Range{{0, 10000}}, {}, {}, {}};
    loop.arguments = {{i % 2, "", Access::read, stencil, stencil.low(), stencil.high(), 8},
                      {1 - i % 2, "", Access::write, {}, {}, {}, 8}};
    chain.push_back(std::move(loop));
  }
  const TilePlan plan(chain, {20, 0, 0});
  for (std::size_t l = 0; l < chain.size(); ++l)
    EXPECT_EQ(edge_runs(plan, hull_of(chain), chain[l].range, l, 0),
              (std::vector<EdgeRun>{{499, static_cast<std::ptrdiff_t>(7 - l)}}));
}

// A folder of this process, because other tests may run concurrently.
struct Folder {
  std::filesystem::path path = testing::TempDir() + "plans-" + std::to_string(getpid());
  Folder() { std::filesystem::create_directory(path); }
  ~Folder() { std::filesystem::remove_all(path); }
};

std::string file_named(const std::string& name) {
  static const Folder folder;
  auto file = folder.path / name;
  std::filesystem::remove(file);
  return file;
}

Json read(const std::string& file) {
  std::ifstream text(file);
  return Json::parse(text);
}

Range range_in(const Json& of) { return Range::from_to(of["begin"].get<Point>(), of["end"].get<Point>()); }

// Each point of each loop is in one tile: dimensions are cut independently, so it suffices that cuts go
// monotonically from the loop's beginning to its end.
void expect_whole(const Json& loop, const Json& plan, std::size_t number) {
  const auto range = range_in(loop), all = range_in(plan);
  for (std::size_t d = 0; d < k_max_dims; ++d) {
    if (plan["tiles"][d] == 1) continue;
    std::vector<EdgeRun> runs;
    for (const auto& run : plan["edges"][d][number]) runs.push_back({run[0], run[1]});
    const auto back = plan["reversed"][d].get<bool>();
    const auto found = cuts(runs, plan["size"][d], back ? -all.end[d] : all.begin[d],
                            back ? -range.end[d] : range.begin[d], back ? -range.begin[d] : range.end[d]);
    ASSERT_EQ(found.size(), plan["tiles"][d].get<std::size_t>() + 1);
    ASSERT_TRUE(std::ranges::is_sorted(found));
  }
}

void expect_loop(const Json& loop, const RandomLoop& from) {
  ASSERT_EQ(range_in(loop), from.range);
  ASSERT_EQ(loop["arguments"].size(), from.arguments.size());
  for (std::size_t a = 0; a < from.arguments.size(); ++a) {
    const auto& argument = loop["arguments"][a];
    EXPECT_EQ(argument["dataset"], from.arguments[a].dataset);
    EXPECT_EQ(argument["access"], (std::array{"read", "write", "read_write",
                                              "increment"}[static_cast<std::size_t>(from.arguments[a].access)]));
    EXPECT_EQ(argument["low"].get<Point>(), from.arguments[a].stencil.low());
    EXPECT_EQ(argument["high"].get<Point>(), from.arguments[a].stencil.high());
  }
}

struct Sums {
  std::uint64_t runs = 0;
  std::uint64_t tiles = 0;
  std::uint64_t in = 0;
  std::uint64_t out = 0;
};

void add_stream(const Json& plan, const Json& stream, Sums& sums) {
  std::uint64_t first = 0, most = 0, needed = 0, left = 0;
  for (const auto& step : stream["steps"]) {
    EXPECT_EQ(step["first_tile"], first);
    first = step["last_tile"];
    most = std::max(most, step["held"].get<std::uint64_t>());
    needed += step["needed"].get<std::uint64_t>() + step["new"].get<std::uint64_t>();
    // Resident chunks: fetched and not evicted.
    EXPECT_EQ(step["held"], needed - left);
    left += step["written"].get<std::uint64_t>() + step["dropped"].get<std::uint64_t>();
  }
  EXPECT_EQ(first, plan["tiles"][stream["dimension"].get<std::size_t>()]);
  EXPECT_EQ(needed, left);
  EXPECT_EQ(stream["most_chunks"], most);
  EXPECT_LE(most, stream["frames"]);
  for (const auto& moved : stream["moved"]) {
    sums.in += moved["fetched"].get<std::uint64_t>() * stream["chunk"].get<std::uint64_t>();
    sums.out += moved["stored"].get<std::uint64_t>() * stream["chunk"].get<std::uint64_t>();
  }
}

void expect_document(const Json& document, const RandomProgram& program, const Statistics& statistics) {
  Sums sums;
  ASSERT_EQ(document["left_out"], 0);
  for (const auto& chain : document["chains"]) {
    sums.runs += chain["runs"].get<std::uint64_t>();
    for (const auto& plan : chain["plans"]) {
      const auto tiles = plan["tiles"].get<std::array<std::uint64_t, k_max_dims>>();
      sums.tiles += plan["runs"].get<std::uint64_t>() * tiles[0] * tiles[1] * tiles[2];
      for (std::size_t l = 0; l < chain["loops"].size(); ++l)
        ASSERT_NO_FATAL_FAILURE(expect_whole(chain["loops"][l], plan, l));
      if (plan.contains("stream")) add_stream(plan, plan["stream"], sums);
    }
  }
  // A chain that does not fit runs as two; the file has both.
  EXPECT_EQ(sums.runs, statistics.chains + statistics.shortened_chains);
  EXPECT_EQ(sums.tiles, statistics.tiles);
  EXPECT_EQ(static_cast<double>(sums.in), statistics.bytes_in);
  EXPECT_EQ(static_cast<double>(sums.out), statistics.bytes_out);
  ASSERT_EQ(document["datasets"].size(), program.halos.size());
  for (std::size_t i = 0; i < program.halos.size(); ++i)
    EXPECT_EQ(range_in(document["datasets"][i]), range_of(program, i));
}

TEST(Plans, ExecutedChain_IsRecordedExactly) {
  const auto file = file_named("plans");
  double moved = 0;
  auto shortened = 0, whole = 0;
  for (int i = 0; i < random_chains() / 3; ++i) {
    SCOPED_TRACE("seed " + std::to_string(i));
    RandomMaker maker(static_cast<std::uint64_t>(i), 6);
    const auto program = maker.make();
    for (const auto* const executor : {"serial", "parallel", "tiled", "streamed"}) {
      SCOPED_TRACE(executor);
      Options options{.executor = executor, .threads = 1, .memory = 150 * 4096, .folder = testing::TempDir()};
      options.plans = file;
      for (auto& points : options.tile) points = maker.number(0, 6);
      Statistics statistics;
      try {
        Ran ran(program, options, 3);
        static_cast<void>(ran.results());
        // Transfers in flight at the end of a context are awaited and counted; after get() there are none.
        statistics = ran.statistics();
      } catch (const Error& error) {
        ASSERT_NE(std::string(error.what()).find(" is too little for a chain of "), std::string::npos)
            << error.what();
        continue;
      }
      const auto document = read(file);
      EXPECT_EQ(document["executor"], executor);
      ASSERT_NO_FATAL_FAILURE(expect_document(document, program, statistics));
      moved += statistics.bytes_in + statistics.bytes_out;
      if (statistics.shortened_chains > 0) {
        ++shortened;
        continue;
      }
      ++whole;
      ASSERT_EQ(document["chains"].size(), 1U);
      const auto& loops = document["chains"][0]["loops"];
      ASSERT_EQ(loops.size(), 3 * program.loops.size());
      for (std::size_t l = 0; l < loops.size(); ++l)
        ASSERT_NO_FATAL_FAILURE(expect_loop(loops[l], program.loops[l % program.loops.size()]));
    }
  }
  EXPECT_GT(moved, 1e5);
  EXPECT_GT(shortened, 0);
  EXPECT_GT(whole, 10 * shortened);
}

// A repeated chain is recorded once with its number of runs; forward and backward are two plans.
TEST(Plans, RepeatedChain_IsRecordedOnce) {
  const auto file = file_named("plans");
  {
    Options options{.executor = "streamed", .threads = 1, .memory = 64 * 4096, .folder = testing::TempDir()};
    options.plans = file;
    Context context(options);
    const auto block = context.block("block", {100, 80});
    const auto u = block.dataset<double>("u", {{-1, -1}, {1, 1}});
    const auto v = block.dataset<double>("v");
    for (int step = 0; step < 5; ++step) {
      block.loop(
          "sweep", block.range(), [](auto to, auto from) { to() = from(-1) + from(0, 1); }, write(v),
          terrace::stencil::read(u, star(2, 1)));
      context.run();
    }
    block.loop(
        "other", block.range(), [](auto to) { to() = 1; }, write(v));
    context.run();
  }
  const auto document = read(file);
  ASSERT_EQ(document["chains"].size(), 2U);
  EXPECT_EQ(document["blocks"][0]["name"], "block");
  EXPECT_EQ(document["chains"][0]["runs"], 5);
  EXPECT_EQ(document["chains"][1]["runs"], 1);
  ASSERT_EQ(document["chains"][0]["plans"].size(), 2U);
  EXPECT_EQ(document["chains"][0]["plans"][0]["runs"], 3);
  EXPECT_EQ(document["chains"][0]["plans"][1]["reversed"], (Json{false, true, false}));
  EXPECT_EQ(document["chains"][1]["loops"][0]["name"], "other");
}

TEST(Plans, SeveralRanks_WriteSeparateFiles) {
  for (const auto* const rank : {"0", "1"}) file_named(std::string("plans.") + rank);
  Options options{.executor = "serial", .threads = 1};
  options.plans = file_named("plans");
  run_ranks(2, [&](std::unique_ptr<Ranks> ranks) {
    Context context(std::make_unique<Engine>(options, std::move(ranks)));
    const auto block = context.block("block", {10, 8});
    const auto u = block.dataset<double>("u");
    block.loop(
        "fill", block.range(), [](auto to) { to() = 1; }, write(u));
    context.run();
  });
  EXPECT_FALSE(std::filesystem::exists(options.plans));
  EXPECT_EQ(range_in(read(options.plans + ".0")["chains"][0]["loops"][0]), (Range{{0, 10}, {0, 4}}));
  EXPECT_EQ(range_in(read(options.plans + ".1")["chains"][0]["loops"][0]), (Range{{0, 10}, {4, 8}}));
}

std::string refusal(const std::string& file) {
  Options options{.executor = "serial", .threads = 1};
  options.plans = file;
  try {
    const Context context(options);
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing is refused";
}

// A program whose plans do not fit into the file ends normally; the file has their beginning.
TEST(Plans, FileSizeLimit_DoesNotEndProgram) {
  const auto file = file_named("plans");
  const auto found = in_child([&]() -> std::string {
    {
      Options options{.executor = "tiled", .threads = 1};
      options.plans = file;
      Context context(options);
      const auto block = context.block("block", {100, 100});
      const auto u = block.dataset<double>("u");
      const rlimit limit{400, 400};
      setrlimit(RLIMIT_FSIZE, &limit);
      block.loop(
          "fill", block.range(), [](auto to) { to() = 1; }, write(u));
      context.run();
      testing::internal::CaptureStderr();
    }
    return testing::internal::GetCapturedStderr();
  });
  EXPECT_EQ(found, "terrace: plans=" + file + ": it cannot be written: File too large\n");
  EXPECT_TRUE(read(file)["chains"].empty());
}

TEST(Plans, OtherFile_IsNotReplaced) {
  const auto file = file_named("plans");
  EXPECT_EQ(refusal(file), "nothing is refused");
  EXPECT_EQ(refusal(file), "nothing is refused");
  std::ofstream(file) << "mine";
  EXPECT_EQ(refusal(file),
            "plans=" + file + ": a file is there that has no plans, and is not overwritten: name another file");
  EXPECT_EQ(refusal("/no/where"),
            "plans=/no/where: it cannot be written: No such file or directory: name another file");
  std::filesystem::remove(file);
  EXPECT_EQ(refusal("/"), "plans=/: it cannot be written: Is a directory: name another file");
}

}  // namespace
}  // namespace terrace::stencil::test
