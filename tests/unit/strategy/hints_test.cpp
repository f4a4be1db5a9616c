// Tests hints files, their error messages, and the precedence of hints.
#include "strategy/hints/hints.hpp"

#include <gtest/gtest.h>

#include "core/error.hpp"
#include "strategy/files/hints_file.hpp"

namespace terrace::strategy {
namespace {

using What = observe::ProgramHint::What;

constexpr const char* k_file = R"(
[values]
niter = 75
cache = "32MiB"
share = 0.5

[refs]
"x*" = "7*niter"
"a cg.cpp:76" = "2*nnz*niter"
b = 12

[[phase]]
name = "resid*"
uses = ["u", "r"]
spares = ["z"]

[[phase]]
name = "resid.5"
spares = ["u"]
)";

std::string refusal_of_hints(const std::string& text) {
  try {
    parse_hints(text, "h.toml");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::invalid);
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    return error.what();
  }
  return "accepted";
}

void expect_file(const Hints& hints) {
  EXPECT_EQ(hints.values,
            (std::map<std::string, double>{{"niter", 75}, {"cache", 32.0 * 1048576}, {"share", 0.5}}));
  ASSERT_EQ(hints.counts.size(), 3U);
  EXPECT_EQ(hints.counts[0].object, "x*");  // in the order of the file
  EXPECT_EQ(hints.counts[1].object, "a cg.cpp:76");
  EXPECT_EQ(hints.counts[1].references.text(), "2*nnz*niter");
  EXPECT_EQ(hints.counts[2].references.text(), "12");
  EXPECT_EQ(hints.directives.all(),
            (std::vector<model::Directive>{
                {"resid*", "u", true}, {"resid*", "r", true}, {"resid*", "z", false}, {"resid.5", "u", false}}));
}

TEST(HintsFile, AllSections_AreRead) { expect_file(parse_hints(k_file, "h.toml")); }

TEST(HintsFile, Serialized_RoundTrips) {
  BlobWriter out;
  parse_hints(k_file, "h.toml").to_blob(out);
  BlobReader in(out.bytes());
  expect_file(Hints::from_blob(in));
  EXPECT_TRUE(in.at_end());
}

TEST(HintsFile, EmptyFile_HasNoHints) { EXPECT_TRUE(parse_hints("# nothing\n", "h.toml").empty()); }

TEST(HintsFile, InvalidFile_ReportsOneLineWithRemedy) {
  EXPECT_EQ(refusal_of_hints("[ref]\na = 1\n"), "h.toml:1: ref: unknown key; did you mean 'refs'?");
  EXPECT_EQ(
      refusal_of_hints("[refs]\na = \"2*nnz*\"\n"),
      "h.toml:2: refs.a: '2*nnz*', column 7: it ends where a number, a name or '(' belongs; write for example "
      "2*nnz*niter");
  EXPECT_EQ(
      refusal_of_hints("[refs]\nfields_.u = \"1\"\n"),
      "h.toml:2: refs.fields_: a table stands where an expression belongs; a name with a point takes quotes: "
      "\"fields_.u\" = \"2*nnz\"");
  EXPECT_NE(refusal_of_hints("[refs]\na = true\n").find("h.toml:2: refs.a: expected a text, found true or false"),
            std::string::npos);
  EXPECT_EQ(refusal_of_hints("[values]\nn = \"m\"\n"), "h.toml:2: values.n: 'm' is no number: m has no value");
  EXPECT_EQ(refusal_of_hints("[values]\n\"a b\" = 1\n"),
            "h.toml:2: values.a b: this is no name of a value; use letters, digits, _ and ., no digit first, and "
            "neither min, max, ceil nor bytes");
  EXPECT_NE(refusal_of_hints("[values]\nn = inf\n").find("h.toml:2: values.n: it must be a number"),
            std::string::npos);
  EXPECT_EQ(refusal_of_hints("[[phase]]\nuses = [\"u\"]\n"), "h.toml:1: phase.name: this key is missing; add it");
  EXPECT_EQ(refusal_of_hints("[[phase]]\nname = \"p\"\n"),
            "h.toml:2: phase.name: nothing is said of this phase; add uses = [\"an object\"] or spares = [...]");
  EXPECT_EQ(refusal_of_hints("[[phase]]\nname = \"p\"\nuses = [\"u\"]\nspares = [\"u\"]\n"),
            "h.toml:4: phase.spares: 'u' stands there twice; a phase uses an object or spares it");
  EXPECT_EQ(refusal_of_hints("[[phase]]\nname = \"p\"\nuse = [\"u\"]\n"),
            "h.toml:3: phase.use: unknown key; did you mean 'uses'?");
  EXPECT_NE(refusal_of_hints("[refs]\n\"a\\nb\" = 1\n").find("this is not the name of an object"),
            std::string::npos);
  EXPECT_EQ(refusal_of_hints("[refs\n").find("h.toml:1: "), 0U);
  EXPECT_EQ(refusal_of_hints("J=n\nnw\n").find("h.toml:1: "), 0U);
}

TEST(HintsFile, MissingFile_IsReported) {
  try {
    read_hints_file("/nowhere/h.toml");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::not_found);
    EXPECT_NE(std::string(error.what()).find("there is no such hints file"), std::string::npos);
  }
}

TEST(ApplyAssignments, ValueOfFile_IsOverridden) {
  auto hints = parse_hints(k_file, "h.toml");
  apply_assignments(hints, {"niter=15", "nnz=2^10"});
  EXPECT_EQ(hints.values.at("niter"), 15);
  EXPECT_EQ(hints.values.at("nnz"), 1024);
}

TEST(ApplyAssignments, InvalidAssignment_IsRejected) {
  const auto told = [](const std::vector<std::string>& assignments) -> std::string {
    Hints hints;
    try {
      apply_assignments(hints, assignments);
    } catch (const Error& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_EQ(told({"niter"}), "--define niter: there is no '='; write for example niter=75");
  EXPECT_EQ(told({"2n=1"}),
            "--define 2n=1: '2n' is no name of a value; use letters, digits, _ and ., no digit first");
  EXPECT_EQ(told({"n=m"}), "--define n=m: 'm' is no number: m has no value");
  EXPECT_EQ(told({"n=1", "n=2"}), "--define n=2: 'n' was given before; give it once");
}

TEST(HintRegistry, BothSources_UserHasPrecedence) {
  HintRegistry book(parse_hints(k_file, "h.toml"));
  book.add({What::value, "niter", {}, 3});
  book.add({What::value, "nnz", {}, 4});
  book.add({What::value, "nnz", {}, 5});
  book.add({What::references, "b", "1", 0});
  book.add({What::references, "c", "1", 0});
  book.add({What::references, "c", "2", 0});
  book.add({What::spares, "resid*", "u", 0});
  book.add({What::spares, "psinv", "u", 0});
  book.add({What::uses, "psinv", "u", 0});
  EXPECT_EQ(book.value("niter"), 75);
  EXPECT_EQ(book.value("nnz"), 5);
  EXPECT_EQ(book.value("steps"), std::nullopt);
  EXPECT_EQ(book.count_of("b")->references.text(), "12");
  EXPECT_EQ(book.count_of("c")->references.text(), "2");
  EXPECT_EQ(book.count_of("x2")->references.text(), "7*niter");
  EXPECT_EQ(book.count_of("d"), nullptr);
  const auto directives = book.directives();
  EXPECT_EQ(directives.used("resid.5", "u"), true);  // the first that speaks of both
  EXPECT_EQ(directives.used("resid.5@4096", "z"), false);
  EXPECT_EQ(directives.used("psinv", "u"), true);
  EXPECT_EQ(directives.used("psinv", "r"), std::nullopt);
}

TEST(HintRegistry, InvalidHint_IsRejected) {
  HintRegistry book;
  EXPECT_THROW(book.add({What::value, "2n", {}, 1}), Error);
  EXPECT_THROW(book.add({What::value, "n", {}, 1 / 0.0}), Error);
  EXPECT_THROW(book.add({What::references, "a", "2*", 0}), Error);
  EXPECT_THROW(book.add({What::references, "", "2", 0}), Error);
  EXPECT_THROW(book.add({What::uses, "p", "a\nb", 0}), Error);
  EXPECT_TRUE(book.empty());
}

TEST(HintRegistry, UnknownNames_ReportsTheNearest) {
  HintRegistry book(parse_hints(R"toml(
[values]
nitre = 75
[refs]
field = "niter*bytes(\"work\")"
"mesh*" = 3
[[phase]]
name = "redis"
uses = ["fields"]
)toml",
                                "h.toml"));
  EXPECT_EQ(book.unused({"fields", "mesh2", "words"}, {"resid", "psinv"}),
            (std::vector<std::string>{"hints: there was no object 'field'; did you mean 'fields'?",
                                      "hints: there was no object 'work'", "hints: there was no phase 'redis'",
                                      "hints: no expression takes the value 'nitre'; did you mean 'niter'?"}));
}

}  // namespace
}  // namespace terrace::strategy
