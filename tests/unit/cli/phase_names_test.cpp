// Tests --phases against the functions of a made-up program.
#include <gtest/gtest.h>

#include "cli/name_resolution.hpp"
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

}  // namespace
}  // namespace terrace::cli
