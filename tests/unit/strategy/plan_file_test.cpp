// Tests the round trip of plan files, and their error messages.
#include "strategy/files/plan_file.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <set>

#include "../model/random_problem.hpp"
#include "core/error.hpp"
#include "core/segment_labels.hpp"
#include "strategy/planner.hpp"

namespace terrace::strategy {
namespace {

std::vector<std::byte> bytes_of(const Plan& plan) {
  BlobWriter out;
  plan.to_blob(out);
  return {out.bytes().begin(), out.bytes().end()};
}

std::string refusal_of_plan(const std::string& text) {
  try {
    parse_plan(text, "p.toml");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::invalid);
    return error.what();
  }
  return "accepted";
}

// Returns a plan of a random problem with all optional parts.
Plan random_plan(std::mt19937& random, bool more) {
  auto problem = model::testing::random_problem(random, {.kinds = 3, .domains = 2, .objects = 6, .phases = 6});
  problem.objects[0].name = "odd \"name\" \\ with\ttabs # and \x01";
  problem.phases[0].name = "two\nlines";
  for (std::size_t k = 2; k < 6; ++k) problem.phases[k].name = k % 2 == 0 ? "solve" : "solve@16384";
  Decision decision;
  decision.schedule = model::testing::random_schedule(random, problem);
  decision.schedule.min_copy_share = model::testing::uniform(random, 0.01, 0.6);
  decision.prediction = model::predict(problem, decision.schedule);
  auto plan = make_plan(problem, decision, "random");
  if (!more) return plan;
  plan.phases[3] = "solve@7";
  plan.phases[4] = "solve@9";
  plan.phases[5] = "solve 33.333 %";  // as a segment could be called
  plan.times[5] = Seconds{};          // as of all that is not cut
  plan.repeats = {{4, 3}};
  plan.lengths = {0, 0, 1 + random() % 100, 0, 0, 0};
  if (std::llround(phase_length(plan.phases, {}, 2)) == static_cast<long long>(plan.lengths[2])) plan.lengths = {};
  if (!plan.moves.empty()) plan.sentinels = {{plan.moves.front().ask, 0, 0}};
  plan.draws = static_cast<std::uint32_t>(1 + random() % 100);
  plan.regret = Seconds{model::testing::uniform(random, 0, 1)};
  plan.regret_high = Seconds{model::testing::uniform(random, 0, 1)};
  for (auto& object : plan.objects)
    for (auto& part : object.parts) part.confidence = model::testing::uniform(random, 0, 1);
  return plan;
}

TEST(PlanFile, AnyPlan_RoundTripsExactly) {
  std::mt19937 random(4);
  for (int n = 0; n < 200; ++n) {
    const auto plan = random_plan(random, n % 2 == 1);
    const auto text = format_plan(plan);
    const auto again = parse_plan(text, "p.toml");
    ASSERT_EQ(bytes_of(again), bytes_of(plan)) << text;
    ASSERT_EQ(format_plan(again), text);
  }
}

// Returns each move by object, place and chunk, with the label of the phase that requests it.
std::multiset<std::string> moves_of(const Plan& plan) {
  std::multiset<std::string> moves;
  const auto labels = segment_labels(plan.phases, plan.lengths);
  for (const auto& move : plan.moves)
    moves.insert(labels[move.ask] + " " + plan.objects[move.object].name + " " +
                 std::to_string(move.chunks.first) + "+" + std::to_string(move.chunks.count) + " " + move.to +
                 (move.awaited ? " before " + labels[move.need] : ""));
  return moves;
}

TEST(PlanFile, WithoutInternals_IsTheSamePlan) {
  std::mt19937 random(5);
  for (int n = 0; n < 100; ++n) {
    auto plan = random_plan(random, false);
    for (std::size_t k = 2; k < 6; ++k)
      plan.phases[k] = k == 2 ? "solve" : "solve@" + std::to_string(16384 * (k - 2));
    const auto text = format_plan(plan);
    const auto rest = parse_plan(text.substr(0, text.find("\n# For Terrace alone")), "p.toml");
    ASSERT_EQ(moves_of(rest), moves_of(plan)) << text;
    ASSERT_EQ(rest.objects.size(), plan.objects.size());
    for (std::size_t o = 0; o < plan.objects.size(); ++o) {
      ASSERT_EQ(rest.objects[o].parts.size(), plan.objects[o].parts.size());
      for (std::size_t p = 0; p < plan.objects[o].parts.size(); ++p) {
        ASSERT_EQ(rest.objects[o].parts[p].chunks, plan.objects[o].parts[p].chunks);
        ASSERT_EQ(rest.objects[o].parts[p].place, plan.objects[o].parts[p].place);
      }
    }
    ASSERT_EQ(phase_length(rest.phases, rest.lengths, 2), phase_length(plan.phases, plan.lengths, 2));
    ASSERT_TRUE(rest.rate_limits.empty());
  }
}

const std::string k_solver = R"(phases = [{ name = "init" }, { name = "solve", length = 1000 }, { name = "solve" }]
[[object]]
name = "a"
chunks = 8
parts = { hbm = "0-1, 3" }
)";

// The sixth line and the following ones.
std::string refusal_of(const std::string& text) { return refusal_of_plan(k_solver + text); }

TEST(PlanFile, EditedFile_IsFollowed) {
  const auto plan = parse_plan(k_solver + R"([[segment]]
name = "solve 2"
moves = [{ object = "a", chunks = "5", to = "ddr" }]
[[segment]]
name = "solve 1, 12 %"
moves = [
  { object = "a", chunks = "3, 0-1", to = "ddr" },
  { object = "a", chunks = "5", to = "hbm", before = "solve 1, 50.5 %" },
]
[internals]
predicted = 0.5
phase = [{ name = "solve 1", segments = [250], rate_limits = [0.5, 0.25] }, { name = "gone", segments = [7] }]
object = [{ name = "a", benefits = [1.0] }, { name = "gone" }]
segment = [{ name = "solve 1, 12 %", order = [1, 0], costs = [1.0, 2.0] }]
)",
                               "p.toml");
  EXPECT_EQ(plan.phases,
            (std::vector<std::string>{"init", "solve", "solve@120", "solve@250", "solve@505", "solve"}));
  EXPECT_EQ(plan.rate_limits, (std::vector<double>{1, 0.5, 0.5, 0.25, 0.25, 1}));
  EXPECT_EQ(plan.lengths, (std::vector<std::uint64_t>{0, 1000, 0, 0, 0, 0}));
  ASSERT_EQ(plan.objects[0].parts.size(), 2U);
  EXPECT_EQ(plan.objects[0].parts[1].chunks, (Span{3, 1}));
  EXPECT_EQ(plan.objects[0].parts[0].benefit.value, 0) << "of parts that are others now";
  ASSERT_EQ(plan.moves.size(), 4U);
  EXPECT_EQ(plan.moves[0].chunks, (Span{3, 1}));
  EXPECT_EQ(plan.moves[1].chunks, (Span{0, 2}));
  EXPECT_EQ(plan.moves[2].chunks, (Span{5, 1}));
  EXPECT_EQ(plan.moves[2].ask, 2U);
  EXPECT_EQ(plan.moves[2].need, 4U);
  EXPECT_EQ(plan.moves[2].cost.value, 0) << "of three moves, not of two";
  EXPECT_EQ(plan.moves[3].ask, 5U);
  EXPECT_FALSE(plan.moves[3].awaited);
  EXPECT_EQ(plan.predicted.value, 0.5);
}

TEST(PlanFile, WrongEdit_ReportsTheRemedy) {
  const std::string segment = "[[segment]]\nname = ";
  EXPECT_EQ(
      refusal_of(segment + "\"slove 1, 12 %\"\n"),
      "p.toml:7: segment.name: 'slove 1, 12 %' is no phase of this plan, and no share of one; write for example "
      "'init' or 'init 12 %'");
  EXPECT_EQ(
      refusal_of(segment + "\"solve 3\"\n"),
      "p.toml:7: segment.name: 'solve 3' is no phase of this plan, and no share of one; did you mean 'solve 1'?");
  EXPECT_EQ(
      refusal_of(segment + "\"solve 1, 100 %\"\n"),
      "p.toml:7: segment.name: 'solve 1, 100 %' is no part of the phase; give a share from 0 to below 100 %");
  EXPECT_EQ(
      refusal_of(segment + "\"solve 2, 5 %\"\n"),
      "p.toml:7: segment.name: the length of phase 'solve' is unknown; state it in phases: { name = \"...\", "
      "length = ACCESSES }, or name the phase alone");
  EXPECT_EQ(refusal_of(segment + "\"solve 2\"\n" + segment + "\"solve 2, 0 %\"\n"),
            "p.toml:9: segment.name: 'solve 2, 0 %' is there already; put all its moves together");
  const auto move = [&](const std::string& text) {
    return refusal_of(segment + "\"init\"\nmoves = [{ " + text + " }]\n");
  };
  EXPECT_EQ(move("object = \"a\", to = \"hbm\""), "accepted");
  EXPECT_EQ(move("object = \"b\", to = \"hbm\""),
            "p.toml:8: segment.moves.object: 'b' is none of the plan's [[object]]s; did you mean 'a'?");
  EXPECT_EQ(move("object = \"a\", chunks = \"1, 8\", to = \"hbm\""),
            "p.toml:8: segment.moves.chunks: reaches to chunk 8, but the object has 8 (0 to 7)");
  EXPECT_EQ(
      move("object = \"a\", chunks = \"1 2\", to = \"hbm\""),
      "p.toml:8: segment.moves.chunks: '1 2' are no chunks; write for example \"3\", \"0-15\" or \"0-6, 20\"");
  EXPECT_EQ(move("object = \"a\", to = \"hbm\", need = 3"),
            "p.toml:8: segment.moves.need: unknown key; the keys here are object, chunks, to, before");
  EXPECT_EQ(refusal_of("[[object]]\nname = \"b\"\nchunks = 4\nparts = { hbm = \"0-1\", ddr = \"1\" }\n"),
            "p.toml:9: object.parts.ddr: has chunk 1, which stands there twice");
  EXPECT_EQ(refusal_of("[internals]\nsegment = [{ name = \"init\", order = [0, 0] }]\n" + segment +
                       "\"init\"\nmoves = [{ object = \"a\", chunks = \"1, 2\", to = \"hbm\" }]\n"),
            "p.toml:7: internals.segment.order: has to have each number from 0 to 1 once; delete this key");
}

// Keys of both schemas are read, whatever the schema number.
TEST(PlanFile, SchemaOne_IsReported) {
  const std::string again =
      "is of the earlier format of plan files, schema 1, whose segments had other names; make the plan again: "
      "terrace plan FILE.terrace -o PLAN.toml";
  EXPECT_EQ(refusal_of_plan("schema = 1\n[[object]]\nname = \"a\"\nplace = \"hbm\"\npin = true\n"), "accepted");
  EXPECT_EQ(refusal_of_plan("schema = 1\n[[object]]\nname = \"a\"\n[[move]]\nobject = \"a\"\n"),
            "p.toml:4: move: " + again);
  EXPECT_EQ(refusal_of_plan("schema = 1\nrate_limits = [1.0]\n"), "p.toml:2: rate_limits: " + again);
  EXPECT_EQ(refusal_of_plan("[[object]]\nname = \"a\"\n[[object.part]]\nchunks = \"0\"\n"),
            "p.toml:3: object.part: " + again);
  EXPECT_EQ(
      refusal_of_plan("phases = [\"a\", \"a@16384\"]\n"),
      "p.toml:1: phases: 'a@16384' ends like a segment of the earlier format; write the phase's name, 'a', once, "
      "or make the plan again: terrace plan FILE.terrace -o PLAN.toml");
}

TEST(PlanFile, InvalidConfidences_AreRejected) {
  EXPECT_EQ(refusal_of_plan("[internals]\nregret = 1e-3\n"),
            "p.toml:2: internals.regret: is found by draws; say how many: draws = 100");
  EXPECT_EQ(refusal_of_plan("[internals]\ndraws = 9\nregret_low = 2.0\nregret_high = 1.0\n"),
            "p.toml:4: internals.regret_high: is below regret_low");
  const auto share = [](const std::string& text) {
    return refusal_of_plan(
        "[[object]]\nname = \"a\"\nplace = \"hbm\"\n[internals]\nobject = [{ name = \"a\", "
        "confidences = [" +
        text + "] }]\n");
  };
  EXPECT_EQ(share("1.5"),
            "p.toml:5: internals.object.confidences: are shares of the draws, from 0 to 1; delete this key");
  EXPECT_NE(share("nan"), "accepted");
  EXPECT_EQ(share("1.0"), "accepted");
}

TEST(PlanFile, InvalidRateLimits_AreRejected) {
  const auto limits = [](const std::string& text) {
    return refusal_of_plan(
        "phases = [\"a\", \"b\"]\n[internals]\nphase = [{ name = \"b\", segments = [5], "
        "rate_limits = " +
        text + " }]\n");
  };
  EXPECT_EQ(
      limits("[1.0]"),
      "p.toml:3: internals.phase.rate_limits: has 1 numbers for 2 segments, the phase's beginning among them; "
      "delete this key");
  EXPECT_EQ(
      limits("[1.0, 0.0]"),
      "p.toml:3: internals.phase.rate_limits: are shares of full speed, above 0 and at most 1; delete this key");
  EXPECT_NE(limits("[1.0, 1.5]"), "accepted");
  EXPECT_NE(limits("[1.0, nan]"), "accepted");
  EXPECT_NE(limits("[1.0, \"fast\"]"), "accepted");
  EXPECT_NE(limits("0.5"), "accepted");
  EXPECT_EQ(limits("[1, 0.25]"), "accepted");
}

TEST(PlanFile, HandWrittenPlan_IsRead) {
  const auto plan = parse_plan(R"(
[[object]]
name = "a"
place = "hbm"
pin = true

[[object]]
name = "work_*"
place = "ddr"
)",
                               "p.toml");
  EXPECT_EQ(plan.planner, "hand");
  ASSERT_EQ(plan.objects.size(), 2U);
  EXPECT_TRUE(plan.objects[0].pinned);
  EXPECT_EQ(plan.objects[0].parts[0].chunks.count, 1U);
  EXPECT_EQ(plan.objects[1].parts[0].place, "ddr");
}

TEST(PlanFile, Mistake_ReportsFileLineAndKey) {
  EXPECT_EQ(refusal_of_plan("[[object]]\nname = \"a\"\nplcae = \"hbm\"\n"),
            "p.toml:3: object.plcae: unknown key; did you mean 'place'?");
  EXPECT_NE(refusal_of_plan("[[object]]\nplace = \"hbm\"\n").find("p.toml:1: object.name"), std::string::npos);
  EXPECT_EQ(refusal_of_plan("[[object]]\nname = \"a\"\nchunks = 4\nparts = { hbm = \"2-9\" }\n"),
            "p.toml:4: object.parts.hbm: reaches to chunk 9, but the object has 4 (0 to 3)");
  EXPECT_NE(refusal_of_plan("[[object]]\nname = \"a\"\nchunks = 0\n").find("p.toml:3: object.chunks"),
            std::string::npos);
  EXPECT_NE(refusal_of_plan("[[object]]\nname = \"a\"\n[[object]]\nname = \"a\"\n").find("p.toml:4: object.name"),
            std::string::npos);
  EXPECT_NE(refusal_of_plan("phases = [\"x\"]\n[[object]]\nname = \"a\"\npin = true\n[[segment]]\nname = \"x\"\n"
                            "moves = [{ object = \"a\", to = \"hbm\" }]\n")
                .find("p.toml:7: segment.moves.object: 'a' is pinned and never moves"),
            std::string::npos);
  EXPECT_NE(refusal_of_plan("[[object]\n").find("p.toml:1: "), std::string::npos);
  EXPECT_NE(refusal_of_plan("schema = 3\n").find("p.toml:1: schema"), std::string::npos);
}

TEST(PlanFile, WrittenFile_ReadsBack) {
  const auto path =
      std::filesystem::temp_directory_path() / ("terrace-plan-" + std::to_string(::getpid()) + ".toml");
  Plan plan;
  plan.planner = "hand";
  plan.objects = {{"a", Bytes{4096}, 1, true, {{{0, 1}, "hbm"}}}};
  write_plan_file(path, plan);
  EXPECT_EQ(bytes_of(read_plan_file(path)), bytes_of(plan));
  std::filesystem::remove(path);
  try {
    read_plan_file(path);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::not_found);
  }
  EXPECT_THROW(write_plan_file("/nowhere/at/all.toml", plan), Error);
}

}  // namespace
}  // namespace terrace::strategy
