// Tests the syntax of TERRACE_STENCIL and its one-line errors.
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <string>

#include "refusal.hpp"
#include "terrace/stencil.hpp"

namespace terrace::stencil {
namespace {

using test::refusal;

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

TEST_F(Variable, AllWords_SetOptionsOfChains) {
  const auto options = from("executor=streamed,threads=3,tile=256x32,memory=2GiB,folder=/scratch");
  EXPECT_EQ(options.executor, "streamed");
  EXPECT_EQ(options.threads, 3U);
  EXPECT_EQ(options.tile, (std::array<std::ptrdiff_t, 3>{256, 32, 0}));
  EXPECT_EQ(options.memory, std::uint64_t{2} << 30U);
  EXPECT_EQ(options.folder, "/scratch");
  EXPECT_EQ(from("").executor, "tiled");
}

TEST_F(Variable, InvalidWord_GivesOneLine) {
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
  for (const std::string tile : {"-4x4", "4x", "axb", "4x4x"})
    EXPECT_EQ(refused(("tile=" + tile).c_str()),
              "TERRACE_STENCIL: tile=" + tile + ": a tile has numbers from 0 on with x between them, as 256x32x8");
  EXPECT_EQ(refused("tile=4x4x4x4"),
            "TERRACE_STENCIL: tile=4x4x4x4: a tile has three numbers at most, as 256x32x8");
  const auto memory = refused("memory=much");
  EXPECT_TRUE(memory.starts_with("TERRACE_STENCIL: memory: 'much' is not ")) << memory;
  EXPECT_EQ(memory.find('\n'), std::string::npos);
}

TEST_F(Variable, BlanksAroundWords_AreIgnored) {
  const auto options = from(" executor = tiled , threads=2 ,\ttile=8x8 ");
  EXPECT_EQ(options.executor, "tiled");
  EXPECT_EQ(options.threads, 2U);
  EXPECT_EQ(options.tile, (std::array<std::ptrdiff_t, 3>{8, 8, 0}));
  EXPECT_EQ(from("  ").executor, "tiled");
}

TEST_F(Variable, MissingComma_IsReported) {
  EXPECT_EQ(refused("executor=streamed memory=4MiB,threads=1"),
            "TERRACE_STENCIL: executor=streamed memory=4MiB: words have commas between them, not blanks");
  EXPECT_EQ(refused("threads=1\t memory = 4MiB"),
            "TERRACE_STENCIL: threads=1\t memory = 4MiB: words have commas between them, not blanks");
  // Folders may have such names.
  EXPECT_EQ(from("executor=streamed,memory=4MiB,folder=/my data/n=4").folder, "/my data/n=4");
}

TEST_F(Variable, DuplicateOrEmptyWord_IsReported) {
  EXPECT_EQ(refused("threads=2,executor=tiled,threads=2"), "TERRACE_STENCIL: threads= is there twice");
  EXPECT_EQ(refused("paged=1,folder="), "TERRACE_STENCIL: folder=: a value is needed");
  EXPECT_EQ(refused("plans"), "TERRACE_STENCIL: plans=: a value is needed");
  EXPECT_EQ(refused("paged=yes"), "TERRACE_STENCIL: paged=yes: it is 0 or 1");
}

TEST_F(Variable, TileWithoutEffect_IsReported) {
  for (const std::string tile : {"0", "0x0", "0x0x0"})
    EXPECT_EQ(
        refused(("tile=" + tile).c_str()),
        "TERRACE_STENCIL: tile=" + tile +
            ": no dimension is cut: leave the word out for a size that is chosen, or take executor=parallel, "
            "which cuts nothing");
  EXPECT_EQ(from("tile=0x4").tile, (std::array<std::ptrdiff_t, 3>{0, 4, 0}));
}

TEST_F(Variable, WordWithoutEffect_IsReported) {
  EXPECT_EQ(refused("executor=tiled,memory=1GiB"),
            "TERRACE_STENCIL: memory= has no effect with executor=tiled; it has with gpu, streamed");
  EXPECT_EQ(refused("memory=1GiB,executor=serial"),
            "TERRACE_STENCIL: memory= has no effect with executor=serial; it has with gpu, streamed");
  EXPECT_EQ(refused("executor=parallel,tile=8x8"),
            "TERRACE_STENCIL: tile= has no effect with executor=parallel; it has with gpu, streamed, tiled");
  EXPECT_EQ(refused("executor=streamed,memory=1MiB,paged=1"),
            "TERRACE_STENCIL: paged= has no effect with executor=streamed; it has with parallel, serial, tiled");
  EXPECT_EQ(refused("executor=serial,threads=2"),
            "TERRACE_STENCIL: threads= has no effect with executor=serial; it has with parallel, streamed, tiled");
  EXPECT_EQ(refused("executor=parallel,folder=/tmp"),
            "TERRACE_STENCIL: folder= has no effect with executor=parallel without paged=1");
  EXPECT_EQ(
      refused("executor=gpu,folder=/tmp"),
      "TERRACE_STENCIL: folder= has no effect with executor=gpu; it has with parallel, serial, streamed, tiled");
  for (const auto* const words : {"executor=parallel,folder=/tmp,paged=1", "executor=serial,threads=1",
                                  "executor=gpu,memory=1GiB,tile=0x8", "depth=4,plans=a.plans"})
    EXPECT_EQ(refused(words), "nothing is refused") << words;
}

TEST_F(Variable, UnknownExecutor_IsReported) {
  const auto text = refusal([&] { Context context(from("executor=fast")); });
  EXPECT_TRUE(text.starts_with("there is no executor 'fast'; there are ")) << text;
  EXPECT_NE(text.find("tiled"), std::string::npos);
}

}  // namespace
}  // namespace terrace::stencil
