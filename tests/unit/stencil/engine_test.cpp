// What a context refuses: loops at fault, datasets without points, options that make no sense. Each time one line
// that names what it is about.
#include "stencil/engine/engine.hpp"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/resource.h>

#include <cstdlib>

#include "child.hpp"
#include "core/error.hpp"

namespace terrace::stencil {
namespace {

template <class Action>
std::string refusal(Action action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::invalid) << error.what();
    return error.what();
  }
  return "nothing is refused";
}

struct Refused : testing::Test {
  template <class... Arguments>
  std::string loop(const Range& range, Arguments... arguments) {
    return refusal([&] {
      block.loop(
          "sweep", range, [](auto...) {}, arguments...);
    });
  }
  Context context{Options{.executor = "serial", .threads = 1}};
  Block block = context.block("block", {8, 6});
  Dataset<double> u = block.dataset<double>("u", {{-1, -1}, {1, 1}});
  Dataset<double> v = block.dataset<double>("v");
};

TEST_F(Refused, ARangeBeyondTheDataset) {
  EXPECT_EQ(loop({{0, 9}, {0, 6}}, write(v)),
            "loop 'sweep', dataset 'v': the loop reaches 0..9 x 0..6 x 0..1, the dataset has 0..8 x 0..6 x 0..1");
  EXPECT_EQ(loop({{0, 8}, {0, 6}}, read(u, star(2, 2))),
            "loop 'sweep', dataset 'u': the loop reaches -2..10 x -2..8 x 0..1, the dataset has "
            "-1..9 x -1..7 x 0..1");
  // What reads nothing is not held against offsets of its own.
  EXPECT_EQ(loop({{0, 8}, {0, 6}}, read(u, star(2, 1)), write(v)), "nothing is refused");
  // A loop over no points reaches nothing.
  EXPECT_EQ(loop({{20, 20}, {0, 6}}, write(v)), "nothing is refused");
}

TEST_F(Refused, ADatasetOfAnotherBlock) {
  auto other = context.block("other", {8, 6});
  auto w = other.dataset<double>("w");
  EXPECT_EQ(loop(block.range(), write(v), read(w)),
            "loop 'sweep', dataset 'w': it is of the block 'other', the loop of 'block'");
}

TEST_F(Refused, TheSameDatasetTwiceOnceWritten) {
  const auto text =
      "loop 'sweep', dataset 'u': it is two arguments, one of which is written: name it once, as "
      "read_write";
  EXPECT_EQ(loop(block.range(), write(u), read(u)), text);
  EXPECT_EQ(loop(block.range(), read(u), write(v), increment(u)), text);
  EXPECT_EQ(loop(block.range(), read_write(u), read_write(u)), text);
  EXPECT_EQ(loop(block.range(), read(u, star(2, 1)), read(u)), "nothing is refused");
}

TEST_F(Refused, ReadWriteAtAnOffsetInsideTheRange) {
  const auto text =
      "loop 'sweep', dataset 'u': it is written and read at an offset that other points of the loop "
      "write";
  EXPECT_EQ(loop(block.range(), read_write(u, Stencil{{1, 0}})), text);
  EXPECT_EQ(loop({{0, 1}, {0, 6}}, read_write(u, Stencil{{0, 0}, {0, -1}})), text);
  EXPECT_EQ(loop({{0, 2}, {0, 6}}, read_write(u, Stencil{{1, 0}})), text);
  EXPECT_EQ(loop({{0, 2}, {0, 6}}, read_write(u, Stencil{{2, 0}})), "nothing is refused");
  EXPECT_EQ(loop({{-1, 0}, {0, 6}}, read_write(u, Stencil{{1, 0}, {1, 1}})), "nothing is refused");
}

// A loop that is refused does not wait.
TEST_F(Refused, WaitsNot) {
  EXPECT_NE(loop({{0, 9}}, write(v)), "nothing is refused");
  EXPECT_TRUE(context.waiting().empty());
}

TEST_F(Refused, BlocksAndDatasetsWithoutPoints) {
  EXPECT_EQ(refusal([&] {
              (void)context.block("flat", {4, 0});
            }),
            "the block 'flat' has 0 points in dimension 1: it needs one at least");
  EXPECT_EQ(refusal([&] {
              (void)context.block("many", {4, 4, 4, 4});
            }),
            "the block 'many' has 4 dimensions: a block has 1 to 3");
}

TEST_F(Refused, NumbersThatADatasetDoesNotHave) {
  const auto text = "dataset 'v': -1..1 x 0..1 x 0..1 is asked for, it has 0..8 x 0..6 x 0..1";
  EXPECT_EQ(refusal([&] { (void)v.get(Range{{-1, 1}}); }), text);
  EXPECT_EQ(refusal([&] { v.set(Range{{-1, 1}}, std::vector<double>(2)); }), text);
}

// Elements of any size can be in a dataset.
TEST_F(Refused, DatasetsAndReductionsOfAnotherContext) {
  Context other{Options{.executor = "serial", .threads = 1}};
  const auto theirs = other.block("block", {8, 6}).dataset<double>("theirs");
  const auto sum = other.sum<double>();
  const auto refused = [&](const Block& of, auto... arguments) {
    try {
      of.loop(
          "sweep", Range{{0, 8}, {0, 6}}, [](auto...) {}, arguments...);
    } catch (const std::invalid_argument& error) {
      return std::string(error.what());
    }
    return std::string("nothing is refused");
  };
  const auto text = "loop 'sweep': its block, datasets and reductions are not of one and the same context";
  EXPECT_EQ(refused(block, read(theirs)), text);
  EXPECT_EQ(refused(block, write(u), into(sum)), text);
  EXPECT_EQ(refused(block, read(Dataset<double>{})), text);
  EXPECT_EQ(refused(Block{}, write(u)), text);
  EXPECT_EQ(refused(block, write(u), read(v)), "nothing is refused");
}

TEST_F(Refused, NumbersThatNoChainLeaves) {
  auto t = block.temporary<double>("t", {{0, -1}, {0, 0}}, {{{0, 8}, {-1, 0}}});
  EXPECT_EQ(
      refusal([&] {
        static_cast<void>(t.get(Range{{0, 8}, {0, 1}}));
      }),
      "dataset 't': 0..8 x 0..1 x 0..1 is asked for, but it is temporary, and no chain leaves its numbers: make it a "
      "dataset, or have it keep them");
  const std::vector<double> numbers(16, 1);
  EXPECT_NE(refusal([&] { t.set(Range{{0, 8}, {-1, 1}}, numbers); }), "nothing is refused");
  EXPECT_EQ(t.get(Range{{0, 8}, {-1, 0}}), std::vector<double>(8, 0));
}

TEST_F(Refused, HalosThatAreNone) {
  EXPECT_EQ(
      refusal([&] {
        static_cast<void>(block.dataset<double>("w", {{1, 1}, {1, 1}}));
      }),
      "the dataset 'w' has a halo of 1 to 1 in dimension 0: its low side is 0 or less, its high side 0 or more");
  EXPECT_NE(refusal([&] {
              static_cast<void>(block.dataset<double>("w", {{0, -1}, {0, -1}}));
            }),
            "nothing is refused");
}

TEST_F(Refused, MorePointsThanAddresses) {
  const auto huge = context.block("huge", {std::ptrdiff_t{1} << 40, std::ptrdiff_t{1} << 40});
  EXPECT_NE(refusal([&] {
              static_cast<void>(huge.dataset<double>("w"));
            }).find("more bytes than a processor has addresses"),
            std::string::npos);
}

// The kernel would end the process with a signal.
TEST(Files, BeyondTheLimitOfTheirSizeAreRefused) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  auto less = before;
  less.rlim_cur = 1 << 20;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &less), 0);
  Options streamed{.executor = "streamed", .threads = 1, .memory = 1 << 20, .folder = testing::TempDir()};
  Options paged{.executor = "tiled", .threads = 1, .folder = testing::TempDir()};
  paged.is_paged = true;
  for (const auto& options : {streamed, paged}) {
    std::string text = "nothing is refused";
    try {
      Context context(options);
      static_cast<void>(context.block("block", {1000, 1000}).dataset<double>("u"));
    } catch (const Error& error) {
      text = error.what();
    }
    EXPECT_NE(text.find("'u'"), std::string::npos) << text;
    EXPECT_NE(text.find("File too large"), std::string::npos) << text;
  }
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
}

TEST(Elements, MayBeLargerThanALineOfTheCache) {
  struct Cell {
    std::array<double, 9> flows;
  };
  Context context(Options{.executor = "tiled", .threads = 1});
  const auto block = context.block("block", {5, 3});
  auto cells = block.dataset<Cell>("cells");
  block.loop(
      "fill", block.range(),
      [](auto cell, auto at) {
        cell() = {};
        cell().flows[8] = static_cast<double>(at[0] + 10 * at[1]);
      },
      write(cells), index());
  EXPECT_EQ(cells.get(Point{4, 2, 0}).flows[8], 24);
  EXPECT_EQ(cells.get(Point{0, 1, 0}).flows[8], 10);
}

// More threads than there is room for, since each has a stack of 16 TiB.
TEST(Threads, ThatTheSystemDoesNotGiveAreNamed) {
  const auto found = test::in_child([]() -> std::string {
    pthread_attr_t about;
    pthread_attr_init(&about);
    if (pthread_attr_setstacksize(&about, std::size_t{1} << 44U) != 0 || pthread_setattr_default_np(&about) != 0)
      return "no such stacks";
    try {
      Context context(Options{.executor = "parallel", .threads = 64});
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  });
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->starts_with("64 threads are asked for, the system gives ")) << *found;
  EXPECT_TRUE(found->ends_with("): ask for fewer")) << *found;
}

struct Variable : testing::Test {
  static std::string refused(const char* text) {
    return refusal([&] { (void)from(text); });
  }
  static Options from(const char* text) {
    setenv("TERRACE_STENCIL", text, 1);
    return Options::from_environment();
  }
  void TearDown() override { unsetenv("TERRACE_STENCIL"); }
};

TEST_F(Variable, SaysHowChainsAreRun) {
  const auto options = from("executor=parallel,threads=3,tile=256x32,memory=2GiB,folder=/scratch");
  EXPECT_EQ(options.executor, "parallel");
  EXPECT_EQ(options.threads, 3U);
  EXPECT_EQ(options.tile, (std::array<std::ptrdiff_t, 3>{256, 32, 0}));
  EXPECT_EQ(options.memory, std::uint64_t{2} << 30U);
  EXPECT_EQ(options.folder, "/scratch");
  EXPECT_EQ(from("").executor, "tiled");
}

TEST_F(Variable, WithWrongWordsGivesOneLine) {
  EXPECT_EQ(
      refused("thread=3"),
      "TERRACE_STENCIL: there is no 'thread'; there are executor, threads, tile, memory, folder, depth, paged, "
      "plans");
  EXPECT_EQ(refused("executor=serial,,threads=1"),
            "TERRACE_STENCIL: there is no ''; there are executor, threads, tile, memory, folder, depth, paged, "
            "plans");
  EXPECT_EQ(refused("threads"), "TERRACE_STENCIL: threads=: a number from 0 on is needed");
  EXPECT_EQ(refused("threads=-2"), "TERRACE_STENCIL: threads=-2: a number from 0 on is needed");
  EXPECT_EQ(refused("threads=2x"), "TERRACE_STENCIL: threads=2x: a number from 0 on is needed");
  EXPECT_EQ(refused("threads=99999999999"), "TERRACE_STENCIL: threads=99999999999: a number from 0 on is needed");
  EXPECT_EQ(refused("tile=-4x4"), "TERRACE_STENCIL: tile=-4: a number from 0 on is needed");
  EXPECT_EQ(refused("tile=4x"), "TERRACE_STENCIL: tile=: a number from 0 on is needed");
  EXPECT_EQ(refused("tile=4x4x4x4"),
            "TERRACE_STENCIL: tile=4x4x4x4: a tile has three numbers at most, as 256x32x8");
  const auto memory = refused("memory=much");
  EXPECT_TRUE(memory.starts_with("TERRACE_STENCIL: memory: 'much' is not ")) << memory;
  EXPECT_EQ(memory.find('\n'), std::string::npos);
}

TEST_F(Variable, NamesAnExecutorThatThereIs) {
  const auto text = refusal([&] { Context context(from("executor=fast")); });
  EXPECT_TRUE(text.starts_with("there is no executor 'fast'; there are ")) << text;
  EXPECT_NE(text.find("tiled"), std::string::npos);
}

}  // namespace
}  // namespace terrace::stencil
