// Tests every planner on random problems: budgets, pins, domains, and the properties of each planner.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>

#include "../model/random_problem.hpp"
#include "core/error.hpp"
#include "model/moves.hpp"
#include "strategy/planner.hpp"
#include "strategy/search/refine.hpp"
#include "strategy/static_decision.hpp"

namespace terrace::strategy {
namespace {

using model::testing::random_problem;
using model::testing::Shape;

std::vector<Shape> shapes() {
  return {{.kinds = 2, .domains = 1, .objects = 5, .phases = 4},
          {.kinds = 3, .domains = 2, .objects = 8, .phases = 3},
          {.kinds = 4, .domains = 1, .objects = 6, .phases = 5, .touched = 0.3},
          {.kinds = 2, .domains = 2, .objects = 10, .phases = 6, .most_chunks = 8, .fast_share = 0.25},
          {.kinds = 2, .domains = 1, .objects = 3, .phases = 1}};
}

// Performs the moves one after the other, as the mover does, with source and target both occupied while a copy is
// in flight, and checks every budget at every instant.
void check_instants(const model::Problem& problem, const model::Schedule& schedule) {
  const auto list = model::derive_moves(problem, schedule);
  ASSERT_TRUE(list.feasible);
  const auto rank = model::speed_ranks(problem);
  auto now = model::initial_placement(schedule, list);
  std::vector<std::uint64_t> held(problem.places.size(), 0);
  for (std::size_t i = 0; i < now.size(); ++i) held[now[i]] += problem.items[i].size.value;
  for (int iteration = 0; iteration < 3; ++iteration) {
    for (std::size_t k = 0; k < problem.phases.size(); ++k) {
      for (const auto& move : list.moves) {
        if (move.ask != k || now[move.item] == move.to) continue;
        const auto size = problem.items[move.item].size.value;
        held[move.to] += size;
        for (std::size_t p = 0; p < held.size(); ++p) ASSERT_LE(held[p], problem.places[p].budget.value);
        held[now[move.item]] -= size;
        now[move.item] = move.to;
      }
      // With every move done when it is needed, the data that the phase touches is in the schedule's place or in
      // faster memory.
      for (const auto& cell : problem.phases[k].cells)
        ASSERT_LE(rank[now[cell.item]], rank[schedule.phases[k][cell.item]]);
    }
  }
}

class EveryPlanner : public testing::TestWithParam<std::string> {};

// `make soak` has all problems.
TEST_P(EveryPlanner, RandomProblem_KeepsBudgetsPinsAndDomains) {
  const int problems = std::getenv("TERRACE_ALL_PROBLEMS") ? 60 : 18;
  const auto& planner = find_planner(GetParam());
  std::mt19937 random(11);
  for (const auto& shape : shapes()) {
    for (int n = 0; n < problems; ++n) {
      auto problem = random_problem(random, shape);
      // A third of the problems have a pinned item: in the fastest place if it fits, else at home.
      if (n % 3 == 0) {
        auto& item = problem.items[random() % problem.items.size()];
        const auto fastest = model::fastest_first(problem, item.domain).front();
        item.pinned = problem.places[fastest].budget < item.size ? problem.homes[item.domain] : fastest;
      }
      const auto effort = n % 6 == 0 ? Effort::thorough : n % 6 == 3 ? Effort::unhurried : Effort::quick;
      const auto decision = planner.decide(problem, model::Calibration{}, effort);
      ASSERT_EQ(decision.schedule.phases.size(), problem.phases.size());
      for (const auto& placement : decision.schedule.phases) {
        for (std::size_t i = 0; i < problem.items.size(); ++i) {
          const auto& item = problem.items[i];
          ASSERT_EQ(problem.places.at(placement[i]).domain, item.domain);
          if (item.pinned == k_no_place) continue;
          ASSERT_EQ(placement[i], item.pinned);
        }
      }
      ASSERT_DOUBLE_EQ(decision.prediction.total.value, model::predict(problem, decision.schedule).total.value);
      if (GetParam() == "fast-only") continue;  // promises to ignore the budget
      ASSERT_TRUE(model::within_budget(problem, decision.schedule));
      check_instants(problem, decision.schedule);
      if (HasFatalFailure()) FAIL() << "case " << n;
    }
  }
}

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const auto name : planner_names()) all.emplace_back(name);
  return all;
}
INSTANTIATE_TEST_SUITE_P(All, EveryPlanner, testing::ValuesIn(names()), [](const auto& planner) {
  auto name = planner.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

TEST(Planners, Auto_PlacementThatWasMeasured_IsNeverPredictedToBeFaster) {
  std::mt19937 random(23);
  int fitting = 0;
  for (const auto& shape : shapes())
    for (int n = 0; n < 20; ++n) {
      auto problem = random_problem(random, shape);
      for (std::size_t i = 0; i < problem.items.size(); ++i) {
        const auto& places = model::fastest_first(problem, problem.items[i].domain);
        problem.measured_at.at(i) = random() % 3 == 0 ? places.front() : places.back();
      }
      if (!within_budget(problem, {.phases = {problem.measured_at}})) continue;
      ++fitting;
      const auto decision = find_planner("auto").decide(problem, model::Calibration{}, Effort::quick);
      EXPECT_LE(decision.prediction.total, static_decision(problem, problem.measured_at).prediction.total);
    }
  EXPECT_GT(fitting, 10);
}

TEST(Planners, Unimem_EqualsBetterOfLocalAndGlobal) {
  std::mt19937 random(5);
  for (const auto& shape : shapes()) {
    for (int n = 0; n < 20; ++n) {
      const auto problem = random_problem(random, shape);
      const model::Calibration calibration;
      const auto local =
          find_planner("local").decide(problem, calibration, Effort::thorough).prediction.total.value;
      const auto global =
          find_planner("global").decide(problem, calibration, Effort::thorough).prediction.total.value;
      EXPECT_DOUBLE_EQ(
          find_planner("unimem").decide(problem, calibration, Effort::thorough).prediction.total.value,
          std::min(local, global));
    }
  }
}

// A planner that claims to improve with time takes that time, and its plans are not worse.
TEST(Planners, ImprovesWith_MatchesActualImprovement) {
  std::mt19937 random(13);
  int better = 0;
  for (const auto name : planner_names()) {
    const auto& planner = find_planner(name);
    for (int n = 0; n < 10; ++n) {
      const auto problem = random_problem(random, shapes()[3]);
      EXPECT_FALSE(planner.improves_with(problem, Effort::quick)) << name;
      if (!planner.improves_with(problem, Effort::unhurried)) continue;
      EXPECT_GT(planner.planning_time(problem, Effort::unhurried), planner.planning_time(problem, Effort::quick))
          << name;
      const auto quick = planner.decide(problem, {}, Effort::quick).prediction.total;
      const auto unhurried = planner.decide(problem, {}, Effort::unhurried).prediction.total;
      EXPECT_LE(unhurried, quick) << name;
      better += unhurried < quick ? 1 : 0;
    }
    if (const auto* first = planner.interim_planner()) {
      const auto problem = random_problem(random, shapes()[0]);
      EXPECT_LT(first->planning_time(problem, Effort::quick), planner.planning_time(problem, Effort::quick))
          << name;
    }
  }
  EXPECT_GE(better, 5);
}

// Compares with all schedules, for all values of min_copy_share, on problems small enough to predict all.
double brute_force(const model::Problem& problem) {
  const auto bits = problem.items.size() * problem.phases.size();
  const model::ProblemIndex index(problem);
  double best = std::numeric_limits<double>::infinity();
  for (std::uint32_t code = 0; code < (1U << bits); ++code) {
    model::Schedule schedule;
    for (std::size_t k = 0, bit = 0; k < problem.phases.size(); ++k) {
      auto& placement = schedule.phases.emplace_back();
      for (std::size_t i = 0; i < problem.items.size(); ++i)
        placement.push_back(static_cast<PlaceId>((code >> bit++) & 1U));
    }
    if (!model::within_budget(problem, schedule)) continue;
    for (const auto keep : k_keeps) {
      schedule.min_copy_share = keep;
      best = std::min(best, model::predict(index, schedule).total.value);
    }
  }
  return best;
}

TEST(Planners, Auto_SmallProblems_FindsTheOptimum) {
  std::mt19937 random(7);
  int moving = 0;
  for (int n = 0; n < 40; ++n) {
    auto problem =
        random_problem(random, {.kinds = 2, .objects = 3, .phases = 4, .most_chunks = 1, .touched = 0.5});
    // So much traffic that moves pay.
    for (auto& phase : problem.phases) {
      phase.core = phase.core * 8;
      for (auto& cell : phase.cells) {
        cell.read_bytes *= 8;
        cell.exposure *= 8;
      }
    }
    const auto decision = find_planner("auto").decide(problem, model::Calibration{}, Effort::thorough);
    const auto best = brute_force(problem);
    EXPECT_GE(decision.prediction.total.value, best * (1 - 1e-12));
    EXPECT_LE(decision.prediction.total.value, best * (1 + 1e-6)) << "problem " << n;
    moving += decision.prediction.moves > 0 ? 1 : 0;
  }
  EXPECT_GT(moving, 5) << "the problems are too easy to say anything about moves";
}

TEST(Planners, Auto_RandomProblems_NotSlowerThanUnimem) {
  std::mt19937 random(8);
  for (const auto effort : {Effort::quick, Effort::thorough}) {
    for (const auto& shape : shapes()) {
      const auto problem = random_problem(random, shape);
      const auto best = find_planner("auto").decide(problem, {}, effort).prediction.total;
      EXPECT_LE(best, find_planner("unimem").decide(problem, {}, effort).prediction.total);
    }
  }
}

TEST(Planners, FirstTouch_FillsFastPlaceInOrder) {
  std::mt19937 random(6);
  auto problem = random_problem(random, {.kinds = 2, .objects = 6, .most_chunks = 1});
  for (auto& item : problem.items) item.size = Bytes{100};
  problem.places[0].budget = Bytes{250};
  const auto decision = find_planner("first-touch").decide(problem, {}, Effort::quick);
  EXPECT_EQ(decision.schedule.phases[0], (model::Placement{0, 0, 1, 1, 1, 1}));
}

TEST(Planners, UnknownName_IsRejectedWithList) {
  try {
    find_planner("fastest");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::invalid);
    for (const auto name : planner_names()) EXPECT_NE(std::string(error.what()).find(name), std::string::npos);
  }
}

}  // namespace
}  // namespace terrace::strategy
