// Tests --phases and --loop against the functions and loops of made-up programs.
#include "cli/name_resolution.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "core/error.hpp"

namespace terrace::cli {
namespace {

using Names = std::vector<std::string>;

const Names k_known{"Cells::add",  "Cells::record", "Particles::push",  "Particles::record", "far::Cells::drop",
                    "near::push2", "relax",         "std::queue::push", "outer::relax",      "Grid<a::b>::smooth"};

TEST(PhaseNames, QualifiedName_TakesPrecedence) {
  const auto names = resolve_phases({"Particles::push", "relax"}, k_known);
  EXPECT_EQ(names.functions, (Names{"Particles::push", "relax"}));
  EXPECT_EQ(names.unknown, Names{});
}

TEST(PhaseNames, UniqueEnding_ResolvesToFunction) {
  EXPECT_EQ(resolve_phases({"push", "add", "Cells::drop", "smooth"}, k_known).functions,
            (Names{"Particles::push", "Cells::add", "far::Cells::drop", "Grid<a::b>::smooth"}));
}

TEST(PhaseNames, Symbol_ResolvesToFunction) {
  EXPECT_EQ(resolve_phases({"relax_", "drop__", "_ZN9Particles4pushEv"}, k_known).functions,
            (Names{"relax", "far::Cells::drop", "Particles::push"}));
  EXPECT_EQ(resolve_phases({"_"}, k_known).unknown, Names{"_"});
}

TEST(PhaseNames, FortranModuleSymbol_ResolvesToFunction) {
  EXPECT_EQ(resolve_phases({"__grid_MOD_relax"}, k_known).functions, Names{"relax"});
  EXPECT_EQ(resolve_phases({"__grid_MOD_relaxed"}, k_known).unknown, Names{"__grid_MOD_relaxed"});
}

TEST(PhaseNames, Pattern_ResolvesToAllMatches) {
  const auto names = resolve_phases({"relax", "Particles::*", "r?lax", "*::pushed*"}, k_known);
  EXPECT_EQ(names.functions, (Names{"relax", "Particles::push", "Particles::record", "*::pushed*"}));
  EXPECT_EQ(names.unknown, Names{"*::pushed*"});
  EXPECT_EQ(resolve_phases({"*push"}, k_known).functions, Names{"Particles::push"}) << "not the library's";
}

TEST(PhaseNames, FirstPatternWithSeveralMatches_IsRefused) {
  EXPECT_EQ(resolve_phases({"far::*"}, k_known).functions, Names{"far::Cells::drop"});
  try {
    resolve_phases({"Cells::*"}, k_known);
    FAIL() << "which one begins an iteration?";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::invalid);
    EXPECT_EQ(std::string(error.what()),
              "--phases Cells::*: 2 functions match, Cells::add, Cells::record; write the one first that an "
              "iteration begins with");
  }
}

TEST(PhaseNames, AmbiguousEnding_ListsCandidates) {
  try {
    resolve_phases({"add", "record"}, k_known);
    FAIL() << "record may be either";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::invalid);
    EXPECT_EQ(std::string(error.what()),
              "--phases record: 2 functions are called that, Cells::record, Particles::record; write one of them");
  }
}

TEST(PhaseNames, UnknownName_IsKeptAndReported) {
  const auto names = resolve_phases({"ush", "add", "particles::push"}, k_known);
  EXPECT_EQ(names.functions, (Names{"ush", "Cells::add", "particles::push"}));
  EXPECT_EQ(names.unknown, (Names{"ush", "particles::push"}));
}

const std::vector<observe::LoopName> k_known_loops{{"main", "steps.c", 35, 0},
                                                   {"main", "steps.c", 37, 0},
                                                   {"main", "steps.c", 35, 0},
                                                   {"conj_grad", "cg.f", 430, 0},
                                                   {"conj_grad", "cg.f", 17, 0},
                                                   {"far::Grid<a::b>::smooth", "grid.cpp", 12, 0},
                                                   {"near::Grid::smooth", "grid.cpp", 40, 0},
                                                   {"near::Grid::drop", "grid.hpp", 40, 0},
                                                   {"copy", "", 0, 28},
                                                   {"left", "shared.hpp", 9, 0},
                                                   {"right", "shared.hpp", 9, 0},
                                                   {"relax", "relax.f90", 5, 0}};

std::string resolved(const std::string& wanted) {
  const auto choice = resolve_loop(wanted, k_known_loops);
  EXPECT_EQ(choice.problem, "") << wanted;
  return choice.loop;
}

std::string refusal(const std::string& wanted) {
  try {
    resolve_loop(wanted, k_known_loops);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::invalid);
    return error.what();
  }
  return "";
}

TEST(LoopNames, LoopOrFunction_ResolvesToItself) {
  EXPECT_EQ(resolved("main:37"), "main:37");
  EXPECT_EQ(resolved("main"), "main");
  EXPECT_EQ(resolved("copy+28"), "copy+28");
}

TEST(LoopNames, EndingOrSymbol_ResolvesToFunction) {
  EXPECT_EQ(resolved("drop"), "near::Grid::drop");
  EXPECT_EQ(resolved("Grid::drop:40"), "near::Grid::drop:40");
  EXPECT_EQ(resolved("conj_grad_"), "conj_grad");
  EXPECT_EQ(resolved("conj_grad_:430"), "conj_grad:430");
  EXPECT_EQ(resolved("__sweeps_MOD_relax:5"), "relax:5");
  EXPECT_EQ(resolved("smooth:12"), "far::Grid<a::b>::smooth:12") << "the line tells them apart";
}

TEST(LoopNames, FileAndLine_ResolvesToLoop) {
  EXPECT_EQ(resolved("steps.c:35"), "main:35");
  EXPECT_EQ(resolved("src/of/cg.f:430"), "conj_grad:430");
  EXPECT_EQ(refusal("shared.hpp:9"),
            "--loop shared.hpp:9: 2 loops are called that, left:9, right:9; write one of them");
}

TEST(LoopNames, AmbiguousName_ListsCandidates) {
  EXPECT_EQ(refusal("smooth"),
            "--loop smooth: 2 functions with loops are called that, far::Grid<a::b>::smooth, near::Grid::smooth; "
            "write one of them");
}

TEST(LoopNames, Pattern_IsKept) {
  for (const char* pattern : {"conj*", "main:3?", "*::drop"}) EXPECT_EQ(resolved(pattern), pattern);
  EXPECT_EQ(resolve_loop("main:4?", k_known_loops).problem,
            "no loop is called 'main:4?'; there is main:35, main:37");
}

TEST(LoopNames, UnknownName_NamesTheNearest) {
  EXPECT_EQ(resolve_loop("main:38", k_known_loops).problem,
            "no loop is called 'main:38'; there is main:37, main:35");
  EXPECT_EQ(resolve_loop("cg.f:20", k_known_loops).problem,
            "no loop is called 'cg.f:20'; there is conj_grad:17, conj_grad:430");
  EXPECT_EQ(resolve_loop("conjgrad", k_known_loops).problem,
            "no loop is called 'conjgrad'; there is conj_grad:17, conj_grad:430");
  EXPECT_EQ(resolve_loop("qqqqqqqqqq", k_known_loops).problem, "no loop is called 'qqqqqqqqqq'");
  EXPECT_EQ(resolve_loop("qqqqqqqqqq", k_known_loops).loop, "qqqqqqqqqq");
}

}  // namespace

}  // namespace terrace::cli
