// Tests what a context refuses: faulty loops, empty datasets, invalid options. Each error is one line that
// names its subject.
#include "stencil/engine/engine.hpp"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/resource.h>

#include <cstdlib>
#include <type_traits>

#include "child.hpp"
#include "core/error.hpp"
#include "refusal.hpp"

namespace terrace::stencil {
namespace {

using test::refusal;
using test::wrong_call;

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

TEST_F(Refused, RangeOutsideDataset_NamesLoopAndDataset) {
  EXPECT_EQ(loop({{0, 9}, {0, 6}}, write(v)),
            "loop 'sweep', dataset 'v': the loop reaches 0..9 x 0..6 x 0..1, the dataset has 0..8 x 0..6 x 0..1");
  EXPECT_EQ(loop({{0, 8}, {0, 6}}, read(u, star(2, 2))),
            "loop 'sweep', dataset 'u': the loop reaches -2..10 x -2..8 x 0..1, the dataset has "
            "-1..9 x -1..7 x 0..1");
  // A write-only argument has no offsets to check.
  EXPECT_EQ(loop({{0, 8}, {0, 6}}, read(u, star(2, 1)), write(v)), "nothing is refused");
  // A loop over an empty range accesses nothing.
  EXPECT_EQ(loop({{20, 20}, {0, 6}}, write(v)), "nothing is refused");
}

TEST_F(Refused, DatasetOfAnotherBlock_IsNamed) {
  auto other = context.block("other", {8, 6});
  auto w = other.dataset<double>("w");
  EXPECT_EQ(loop(block.range(), write(v), read(w)),
            "loop 'sweep', dataset 'w': it is of the block 'other', the loop of 'block'");
}

TEST_F(Refused, DatasetTwiceOnceWritten_IsNamed) {
  const auto text =
      "loop 'sweep', dataset 'u': it is two arguments, one of which is written: name it once, as "
      "read_write";
  EXPECT_EQ(loop(block.range(), write(u), read(u)), text);
  EXPECT_EQ(loop(block.range(), read(u), write(v), increment(u)), text);
  EXPECT_EQ(loop(block.range(), read_write(u), read_write(u)), text);
  EXPECT_EQ(loop(block.range(), read(u, star(2, 1)), read(u)), "nothing is refused");
}

TEST_F(Refused, ReadWriteAtOffsetInsideRange_IsNamed) {
  const auto text =
      "loop 'sweep', dataset 'u': it is written and read at an offset that other points of the loop "
      "write";
  EXPECT_EQ(loop(block.range(), read_write(u, Stencil{{1, 0}})), text);
  EXPECT_EQ(loop({{0, 1}, {0, 6}}, read_write(u, Stencil{{0, 0}, {0, -1}})), text);
  EXPECT_EQ(loop({{0, 2}, {0, 6}}, read_write(u, Stencil{{1, 0}})), text);
  EXPECT_EQ(loop({{0, 2}, {0, 6}}, read_write(u, Stencil{{2, 0}})), "nothing is refused");
  EXPECT_EQ(loop({{-1, 0}, {0, 6}}, read_write(u, Stencil{{1, 0}, {1, 1}})), "nothing is refused");
}

// A refused loop is not queued.
TEST_F(Refused, RefusedLoop_IsNotQueued) {
  EXPECT_NE(loop({{0, 9}}, write(v)), "nothing is refused");
  EXPECT_TRUE(context.waiting().empty());
}

TEST_F(Refused, EmptyBlockOrDataset_IsNamed) {
  EXPECT_EQ(refusal([&] {
              (void)context.block("flat", {4, 0});
            }),
            "the block 'flat' has 0 points in dimension 1: give it at least one");
  EXPECT_EQ(refusal([&] {
              (void)context.block("many", {4, 4, 4, 4});
            }),
            "the block 'many' has 4 dimensions: give it 1 to 3");
}

TEST_F(Refused, ValuesOutsideDataset_AreNamed) {
  const auto text =
      "dataset 'v': -1..1 x 0..1 x 0..1 was requested, it has 0..8 x 0..6 x 0..1: request points inside";
  EXPECT_EQ(refusal([&] { (void)v.get(Range{{-1, 1}}); }), text);
  EXPECT_EQ(refusal([&] { v.set(Range{{-1, 1}}, std::vector<double>(2)); }), text);
}

// Datasets may have elements of any size.
TEST_F(Refused, HandlesOfAnotherContext_AreNamed) {
  Context other{Options{.executor = "serial", .threads = 1}};
  const auto theirs = other.block("block", {8, 6}).dataset<double>("theirs");
  const auto sum = other.sum<double>();
  const auto refused = [&](const Block& of, auto... arguments) {
    return wrong_call([&] {
      of.loop(
          "sweep", Range{{0, 8}, {0, 6}}, [](auto...) {}, arguments...);
    });
  };
  const auto text = [](int number) {
    return "loop 'sweep': argument " + std::to_string(number) +
           " behind the kernel does not belong to the context of the loop's block: pass one of that context";
  };
  EXPECT_EQ(refused(block, read(theirs)), text(1));
  EXPECT_EQ(refused(block, write(u), into(sum)), text(2));
  EXPECT_EQ(refused(block, write(u), read(v), read(Dataset<double>{})), text(3));
  EXPECT_EQ(refused(block, write(u), read(v)), "nothing is refused");
}

TEST_F(Refused, HandlesWithoutContext_AreNamed) {
  const std::string block_text =
      "its block was made by Block() and belongs to no context: take one of Context::block()";
  EXPECT_EQ(wrong_call([&] {
              Block{}.loop(
                  "sweep", Range{}, [](auto) {}, write(u));
            }),
            "loop 'sweep': " + block_text);
  EXPECT_EQ(wrong_call([&] { (void)Block{}.dataset<double>("w"); }), "dataset 'w': " + block_text);
  EXPECT_EQ(wrong_call([&] { (void)Block{}.temporary<double>("w"); }), "dataset 'w': " + block_text);
  Dataset<double> none;
  const auto text = "an empty dataset, made by Dataset(), is used: assign it one that Block::dataset() returns";
  EXPECT_EQ(wrong_call([&] { (void)none.get(Range{}); }), text);
  EXPECT_EQ(wrong_call([&] { none.set(Range{}, std::vector<double>(1)); }), text);
  EXPECT_EQ(wrong_call([&] { (void)none.name(); }), text);
  EXPECT_EQ(wrong_call([&] { (void)none.range(); }), text);
  EXPECT_EQ(wrong_call([&] { context.transfer(none, Range{}, u, Range{}); }), text);
  EXPECT_EQ(wrong_call([&] { (void)Sum<double>{}.value(); }),
            "value() was called on an empty reduction: assign it one that Context::sum(), minimum() or maximum() "
            "returns");
}

TEST_F(Refused, MovedFromContext_Throws) {
  const Context there = std::move(context);
  const auto text = "a Context that was moved from is used: use the Context that it was moved to";
  EXPECT_EQ(wrong_call([&] { context.run(); }), text);
  EXPECT_EQ(wrong_call([&] { static_cast<void>(context.block("b", {4})); }), text);
  EXPECT_EQ(wrong_call([&] { static_cast<void>(context.sum<double>()); }), text);
  EXPECT_EQ(wrong_call([&] { static_cast<void>(context.statistics()); }), text);
  EXPECT_EQ(wrong_call([&] { static_cast<void>(context.options()); }), text);
  EXPECT_EQ(wrong_call([&] { static_cast<void>(context.waiting()); }), text);
  EXPECT_EQ(wrong_call([&] { static_cast<void>(context.engine()); }), text);
  EXPECT_EQ(wrong_call([&] { context.transfer(u, u.range(), u, u.range()); }),
            "transfer(): one of its datasets belongs to another context: pass two datasets of the context that is "
            "called");
  EXPECT_EQ(there.options().executor, "serial");
}

TEST_F(Refused, WrongNumberOfValues_IsNamed) {
  EXPECT_EQ(wrong_call([&] {
              v.set(Range{{0, 4}, {0, 3}}, std::vector<double>(11));
            }),
            "dataset 'v': 11 values were passed for the 12 points of 0..4 x 0..3 x 0..1: pass one for each point");
  // Refused before memory is allocated.
  EXPECT_EQ(refusal([&] {
              (void)v.get(Range{{0, std::ptrdiff_t{1} << 60}, {0, 6}});
            }),
            "dataset 'v': 0..1152921504606846976 x 0..6 x 0..1 was requested, it has 0..8 x 0..6 x 0..1: request "
            "points inside");
}

TEST_F(Refused, RangeOfOtherDimensions_IsNamed) {
  const auto one =
      "loop 'sweep': its range has 1 dimension, the block 'block' has 2: state begin and end in each, {0, 1} "
      "for the first layer";
  EXPECT_EQ(loop(Range{{0, 8}}), one);
  EXPECT_EQ(loop(Range{{0, 8}}, write(v)), one);
  EXPECT_EQ(loop(context.block("row", {8}).range(), write(v)), one);
  EXPECT_EQ(
      loop(Range{{0, 8}, {0, 6}, {0, 2}}),
      "loop 'sweep': its range 0..8 x 0..6 x 0..2 goes into dimension 3, the block 'block' has 2 dimensions: make "
      "the range 0..1 in the others");
  EXPECT_EQ(loop(Range{{0, 8}, {0, 6}, {0, 1}, {0, 1}}).substr(0, 40), "loop 'sweep': its range has 4 dimensions");
  EXPECT_EQ(loop(Range{{0, 8}, {0, 6}, {0, 1}}, write(v)), "nothing is refused");
  EXPECT_EQ(loop(Range::from_to({0, 0, 0}, {8, 1, 1}), write(v)), "nothing is refused");
  EXPECT_EQ(refusal([&] {
              context.transfer(u, {{0, 8}}, v, {{0, 8}, {0, 1}});
            }).substr(0, 55),
            "transfer from 'u' to 'v': its range has 1 dimension, th");
}

// Each would silently run over no points.
TEST_F(Refused, RangeEndsBeforeBegin_IsNamed) {
  const std::string order = ": in braces a range has begin and end of each axis, {{0, nx}, {0, ny}}";
  const auto y = ": the range 0..8 x 6..0 x 0..1 ends before it begins along y" + order;
  EXPECT_EQ(loop({{0, 8}, {6, 0}}, write(v)), "loop 'sweep'" + y);
  EXPECT_EQ(loop(Range::from_to({8, 0, 0}, {0, 6, 1})),
            "loop 'sweep': the range 8..0 x 0..6 x 0..1 ends before it begins along x" + order);
  EXPECT_EQ(refusal([&] {
              context.transfer(u, {{0, 8}, {6, 0}}, v, {{0, 8}, {6, 0}});
            }),
            "transfer from 'u' to 'v'" + y);
  EXPECT_EQ(refusal([&] { static_cast<void>(v.get({{0, 8}, {6, 0}})); }), "dataset 'v'" + y);
  EXPECT_EQ(wrong_call([&] {
              static_cast<void>(v.set(Range{{0, 8}, {6, 0}}, std::vector<double>(1)));
            }),
            "dataset 'v': 1 values were passed for the 0 points of 0..8 x 6..0 x 0..1: pass one for each point");
}

// The conditions of a loop's static_asserts.
TEST_F(Refused, KernelAndArgumentsDiffer_DoesNotCompile) {
  static_assert(!detail::LoopArgument<Dataset<double>>);
  static_assert(!detail::LoopArgument<Line<double, 0>>);
  static_assert(detail::LoopArgument<decltype(read(u))> && detail::LoopArgument<decltype(index())>);
  static_assert(detail::LoopArgument<decltype(read(Line<double, 1>{}))>);
  static_assert(detail::LoopArgument<decltype(into(context.sum<double>()))>);
  const auto one = [](auto to) { to() = 1; };
  const auto two = [](auto to, auto from) { to() = from(); };
  static_assert(detail::k_takes<decltype(one), decltype(write(u))>);
  static_assert(!detail::k_takes<decltype(one), decltype(write(u)), decltype(read(v))>);
  static_assert(!detail::k_takes<decltype(two), decltype(write(u))>);
  static_assert(detail::k_takes<decltype(two), decltype(write(u)), decltype(read(v))>);
}

// A halo is two points in braces, a range is not.
TEST_F(Refused, RangeOfTwoPoints_IsNamed) {
  EXPECT_EQ(loop({{0, 0}, {5, 5}}, write(v)),
            "loop 'sweep': the range 0..0 x 5..5 x 0..1 is empty along both axes: in braces a range has begin and "
            "end of each axis, {{0, nx}, {0, ny}}; Range::from_to() takes two points");
  EXPECT_EQ(loop({{0, 5}}).substr(0, 43), "loop 'sweep': its range has 1 dimension, th");
  EXPECT_EQ(loop({{3, 3}}).substr(0, 43), "loop 'sweep': its range has 1 dimension, th");
  // Empty ranges that a program computes.
  for (const auto& range :
       {Range{{3, 3}, {0, 6}}, Range{{3, 3}, {2, 2}}, Range{{0, 0}, {0, 0}}, Range::from_to({3, 3, 0}, {3, 3, 0}),
        intersection({{0, 3}, {0, 6}}, {{5, 8}, {0, 6}})})
    EXPECT_EQ(loop(range, write(v)), "nothing is refused");
  // Both spellings denote the same points; the one with two points in braces does not compile.
  EXPECT_EQ(Range::from_to({1, 2, 0}, {3, 5, 1}), (Range{{1, 3}, {2, 5}}));
  static_assert(!std::is_constructible_v<Range, Point, Point>);
}

TEST_F(Refused, ShortLine_IsNamed) {
  const Line<double, 0> across(0, 8);
  const Line<double, 1> along(1, 6);
  EXPECT_EQ(loop(block.range(), write(v), read(across), read(along)),
            "loop 'sweep', line 2 of 2, along y: it has 5 values, 1..6, the loop's range is 0..6 there: make it "
            "cover that range");
  EXPECT_EQ(loop(Range{{0, 9}, {0, 6}}, read(u, Stencil{{-1, 0}}), read(across)),
            "loop 'sweep', line 1 of 1, along x: it has 8 values, 0..8, the loop's range is 0..9 there: make it "
            "cover that range");
  EXPECT_EQ(loop(block.range(), read(Line<double, 1>{})),
            "loop 'sweep', line 1 of 1, along y: it has 0 values, 0..0, the loop's range is 0..6 there: make it "
            "cover that range");
  EXPECT_EQ(loop(Range{{0, 8}, {1, 6}}, write(v), read(across), read(along)), "nothing is refused");
  EXPECT_EQ(wrong_call([] { Line<double, 0>(4, 0); }),
            "a Line from 4 to 0 ends before it begins: pass the smaller index first");
  EXPECT_EQ((Line<double, 0>(4, 4).end()), 4);
}

TEST_F(Refused, ValuesOfTemporary_AreNamed) {
  auto t = block.temporary<double>("t", {{0, -1}, {0, 0}}, {{{0, 8}, {-1, 0}}});
  EXPECT_EQ(refusal([&] {
              static_cast<void>(t.get(Range{{0, 8}, {0, 1}}));
            }),
            "dataset 't': 0..8 x 0..1 x 0..1 was requested, but it is temporary, and its values do not outlive a "
            "chain: declare it as a dataset, or name the points in its `kept`");
  const std::vector<double> numbers(16, 1);
  EXPECT_NE(refusal([&] { t.set(Range{{0, 8}, {-1, 1}}, numbers); }), "nothing is refused");
  EXPECT_EQ(t.get(Range{{0, 8}, {-1, 0}}), std::vector<double>(8, 0));
}

TEST_F(Refused, InvalidHalo_IsNamed) {
  EXPECT_EQ(refusal([&] {
              static_cast<void>(block.dataset<double>("w", {{1, 1}, {1, 1}}));
            }),
            "the dataset 'w' has a halo of 1 to 1 in dimension 0: pass a low side of at most 0 and a high side of "
            "at least 0");
  EXPECT_NE(refusal([&] {
              static_cast<void>(block.dataset<double>("w", {{0, -1}, {0, -1}}));
            }),
            "nothing is refused");
}

TEST_F(Refused, TooManyPoints_AreNamed) {
  const auto huge = context.block("huge", {std::ptrdiff_t{1} << 40, std::ptrdiff_t{1} << 40});
  EXPECT_NE(refusal([&] {
              static_cast<void>(huge.dataset<double>("w"));
            }).find("more bytes than a processor has addresses"),
            std::string::npos);
}

// Otherwise the kernel would kill the process with a signal.
TEST(Files, FileSizeLimit_IsReported) {
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

TEST(Elements, LargerThanCacheLine_Work) {
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

// More threads than address space allows, because each has a stack of 16 TiB.
TEST(EngineThreads, ThreadCreationFails_IsReported) {
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
  EXPECT_TRUE(found->starts_with("64 threads were requested, the system gives ")) << *found;
  EXPECT_TRUE(found->ends_with("): set threads=N lower")) << *found;
}

}  // namespace
}  // namespace terrace::stencil
