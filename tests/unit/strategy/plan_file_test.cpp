// Plan files: what reads back, and what each mistake is told.
#include "strategy/files/plan_file.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "../model/random_problem.hpp"
#include "core/error.hpp"
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

TEST(PlanFile, ReadsBackToTheLastDigit) {
  std::mt19937 random(4);
  for (int n = 0; n < 100; ++n) {
    auto problem = model::testing::random_problem(random, {.kinds = 3, .domains = 2, .objects = 6, .phases = 4});
    problem.objects[0].name = "odd \"name\" \\ with\ttabs # and \x01";
    problem.phases[0].name = "two\nlines";
    Decision decision;
    decision.schedule = model::testing::random_schedule(random, problem);
    decision.schedule.copies_keep = model::testing::uniform(random, 0.01, 0.6);
    decision.prediction = model::predict(problem, decision.schedule);
    auto plan = make_plan(problem, decision, "random");
    if (n % 2 == 1) {
      plan.phases[2] = plan.phases[1] + "@7";
      plan.repeats = {{2, 1}};
      plan.draws = static_cast<std::uint32_t>(1 + random() % 100);
      plan.regret = Seconds{model::testing::uniform(random, 0, 1)};
      plan.regret_high = Seconds{model::testing::uniform(random, 0, 1)};
      for (auto& object : plan.objects)
        for (auto& part : object.parts) part.confidence = model::testing::uniform(random, 0, 1);
    }
    const auto text = format_plan(plan);
    const auto again = parse_plan(text, "p.toml");
    ASSERT_EQ(bytes_of(again), bytes_of(plan)) << text;
    ASSERT_EQ(format_plan(again), text);
  }
}

TEST(PlanFile, RefusesConfidencesThatAreNone) {
  const std::string object = "[[object]]\nname = \"a\"\n";
  EXPECT_EQ(refusal_of_plan("regret = 1e-3\n"), "p.toml:1: regret: is found by draws; say how many: draws = 100");
  EXPECT_EQ(refusal_of_plan("draws = 9\nregret_low = 2.0\nregret_high = 1.0\n"),
            "p.toml:3: regret_high: is below regret_low");
  EXPECT_NE(
      refusal_of_plan(object + "place = \"hbm\"\nconfidence = 1.5\n").find("is a share of the draws, from 0 to 1"),
      std::string::npos);
  EXPECT_NE(refusal_of_plan(object + "place = \"hbm\"\nconfidence = nan\n"), "accepted");
  EXPECT_NE(refusal_of_plan(object + "confidence = 0.5\n").find("is of a place"), std::string::npos);
  EXPECT_EQ(refusal_of_plan(object + "place = \"hbm\"\nconfidence = 1.0\n"), "accepted");
}

TEST(PlanFile, RefusesRepeatsThatLeaveTheirPhase) {
  const std::string phases = "phases = [\"a\", \"a@10\", \"a@20\", \"b\", \"b@10\"]\n";
  const auto repeat = [&](int last, int from) {
    return refusal_of_plan(phases + "[[repeat]]\nlast = " + std::to_string(last) +
                           "\nfrom = " + std::to_string(from) + "\n");
  };
  EXPECT_EQ(repeat(2, 1), "accepted");
  EXPECT_EQ(repeat(2, 0), "accepted");
  EXPECT_EQ(repeat(4, 3), "accepted");
  EXPECT_EQ(
      repeat(1, 0),
      "p.toml:3: repeat.last: is to be the last segment of a phase, and from an earlier one of the same phase");
  for (const auto& [last, from] : {std::pair{2, 2}, {4, 1}, {3, 2}, {3, 3}, {5, 3}, {-1, 0}, {2, -1}})
    EXPECT_NE(repeat(last, from), "accepted") << last << " " << from;
  EXPECT_NE(refusal_of_plan("[[repeat]]\nlast = 0\nfrom = 0\n"), "accepted");
  EXPECT_NE(refusal_of_plan(phases + "[[repeat]]\nlast = 2\n"), "accepted");
  EXPECT_NE(refusal_of_plan(phases + "[[repeat]]\nlast = 2\nfrom = 1\nthen = 1\n"), "accepted");
}

TEST(PlanFile, RefusesPacesThatAreNone) {
  const std::string phases = "phases = [\"a\", \"b\"]\n";
  EXPECT_EQ(refusal_of_plan(phases + "rate_limits = [1.0]\n"),
            "p.toml:2: rate_limits: has 1 numbers for 2 phases; give each its own, or none");
  EXPECT_EQ(refusal_of_plan(phases + "rate_limits = [1.0, 0.0]\n"),
            "p.toml:2: rate_limits: are shares of full speed, above 0 and at most 1");
  EXPECT_NE(refusal_of_plan(phases + "rate_limits = [1.0, 1.5]\n"), "accepted");
  EXPECT_NE(refusal_of_plan(phases + "rate_limits = [1.0, nan]\n"), "accepted");
  EXPECT_NE(refusal_of_plan(phases + "rate_limits = [1.0, \"fast\"]\n"), "accepted");
  EXPECT_NE(refusal_of_plan(phases + "rate_limits = 0.5\n"), "accepted");
  EXPECT_EQ(refusal_of_plan(phases + "rate_limits = [1, 0.25]\n"), "accepted");
}

TEST(PlanFile, TakesAHandWrittenPlan) {
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

TEST(PlanFile, NamesFileLineAndKeyOfAMistake) {
  EXPECT_EQ(refusal_of_plan("[[object]]\nname = \"a\"\nplcae = \"hbm\"\n"),
            "p.toml:3: object.plcae: unknown key; did you mean 'place'?");
  EXPECT_NE(refusal_of_plan("[[object]]\nplace = \"hbm\"\n").find("p.toml:1: object.name"), std::string::npos);
  EXPECT_NE(
      refusal_of_plan("[[object]]\nname = \"a\"\nchunks = 4\n[[object.part]]\nchunks = \"2-9\"\nplace = \"hbm\"\n")
          .find("p.toml:5: object.part.chunks: reaches to chunk 9"),
      std::string::npos);
  EXPECT_NE(refusal_of_plan("[[object]]\nname = \"a\"\nchunks = 0\n").find("p.toml:3: object.chunks"),
            std::string::npos);
  EXPECT_NE(refusal_of_plan("[[object]]\nname = \"a\"\n[[object]]\nname = \"a\"\n").find("p.toml:4: object.name"),
            std::string::npos);
  EXPECT_NE(refusal_of_plan(
                "phases = [\"x\"]\n[[object]]\nname = \"a\"\n[[move]]\nobject = \"b\"\nto = \"hbm\"\nask = 0\n")
                .find("p.toml:5: move.object"),
            std::string::npos);
  EXPECT_NE(refusal_of_plan(
                "phases = [\"x\"]\n[[object]]\nname = \"a\"\n[[move]]\nobject = \"a\"\nto = \"hbm\"\nask = 1\n")
                .find("p.toml:7: move.ask"),
            std::string::npos);
  EXPECT_NE(refusal_of_plan(
                "phases = [\"x\"]\n[[object]]\nname = \"a\"\npin = true\n[[move]]\nobject = \"a\"\nto = \"hbm\"\n"
                "ask = 0\n")
                .find("is pinned and never moves"),
            std::string::npos);
  EXPECT_NE(refusal_of_plan("[[object]\n").find("p.toml:1: "), std::string::npos);
  EXPECT_NE(refusal_of_plan("schema = 2\n").find("p.toml:1: schema"), std::string::npos);
}

TEST(PlanFile, IsWrittenWholeAndReadBack) {
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
