// Tests the effect of directives on planners, for a program whose profile has missed a use. Compares plans with
// all possible schedules, priced by the true problem.
#include "model/directives.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "../model/random_problem.hpp"
#include "model/moves.hpp"
#include "strategy/planner.hpp"

namespace terrace::strategy {
namespace {

using model::Directives;
using model::Problem;
using model::Schedule;

constexpr double k_size = 1 << 20;
constexpr double k_exposed = 1.0 / 64 / 20;  // latencies by a byte: 20 lines of a sweep are under way at once

model::ItemCell reading(std::uint32_t item, double times) {
  return {item, times * k_size, 0, times * k_size * k_exposed, 100};
}

// Three phases and two objects, of which fast memory holds one: u is read in the first, v in the last.
Problem small_problem() {
  std::mt19937 random(1);
  auto problem = model::testing::random_problem(random, {.kinds = 2, .objects = 2, .phases = 3, .most_chunks = 1});
  problem.objects = {{"u", Bytes{1 << 20}, 1}, {"v", Bytes{1 << 20}, 1}};
  problem.items = {{Bytes{1 << 20}, 0, 0, 0, 1}, {Bytes{1 << 20}, 0, 1, 0, 1}};
  problem.measured_at = {problem.homes[0], problem.homes[0]};
  problem.places[0] = {"dram", "dram", 0, Bytes{1 << 20}, 16e9, 16e9, 86e-9};
  problem.places[1] = {"nvm", "nvm", 0, Bytes{1 << 23}, 4e9, 4e9, 86e-9};
  problem.copy = {{0, 4e9}, {4e9, 0}};
  const char* const names[] = {"begin", "middle", "end"};
  for (std::size_t k = 0; k < 3; ++k) {
    auto& phase = problem.phases[k];
    phase.name = names[k];
    phase.core = Seconds{1e-5};
    phase.cells.clear();
  }
  problem.phases[0].cells = {reading(0, 40)};
  problem.phases[2].cells = {reading(1, 40)};
  for (std::size_t k = 0; k < 3; ++k)
    problem.phases[k].measured = Seconds{phase_time(problem, k, problem.measured_at).total};
  return problem;
}

template <class Visit>
void each_schedule(const Problem& problem, Visit visit) {
  const auto bits = problem.items.size() * problem.phases.size();
  for (std::uint32_t code = 0; code < (1U << bits); ++code) {
    Schedule schedule;
    for (std::size_t k = 0, bit = 0; k < problem.phases.size(); ++k) {
      auto& placement = schedule.phases.emplace_back();
      for (std::size_t i = 0; i < problem.items.size(); ++i)
        placement.push_back(static_cast<PlaceId>((code >> bit++) & 1U));
    }
    if (!model::within_budget(problem, schedule)) continue;
    for (const double keep : {0.1, 0.25, 0.5}) {
      schedule.min_copy_share = keep;
      visit(schedule);
    }
  }
}

double best(const Problem& problem) {
  double least = std::numeric_limits<double>::infinity();
  each_schedule(problem, [&](const Schedule& schedule) {
    least = std::min(least, model::predict(problem, schedule).total.value);
  });
  return least;
}

// Returns the time of the plan made of `believed` under `truth`.
double takes(const Problem& truth, const Problem& believed, const char* planner) {
  auto schedule = find_planner(planner).decide(believed, {}, Effort::thorough).schedule;
  auto list = model::derive_moves(believed, schedule);
  for (auto& move : list.moves) {  // what leaves before its last use is used where it goes to from then on
    if (move.awaited) continue;
    for (auto k = move.ask; k != move.change; k = static_cast<PhaseIndex>((k + 1) % truth.phases.size()))
      schedule.phases[k][move.item] = move.to;
    move.change = move.ask;
  }
  return model::predict(model::ProblemIndex(truth), schedule, list).total.value;
}

TEST(Directives, MissedUse_IsPlannedFor) {
  const auto seen = small_problem();
  auto truth = seen;  // u is read in the middle, too
  truth.phases[1].cells = {reading(0, 2)};
  auto directed = seen;
  model::add_declared_uses(directed, Directives({{"middle", "u", true}}), k_exposed);
  ASSERT_EQ(directed.phases[1].cells.size(), 1U);
  EXPECT_EQ(directed.phases[1].cells[0].read_bytes, k_size);
  const auto without = takes(truth, seen, "auto");
  const auto with = takes(truth, directed, "auto");
  EXPECT_NEAR(with, best(truth), 1e-9 * with);
  EXPECT_GT(without, 1.01 * with) << "the profile alone was enough";
}

TEST(Directives, SparedObject_MayBeEvictedWithoutWaiting) {
  auto truth = small_problem();
  truth.phases[1].core = truth.phases[1].measured = Seconds{1e-3};  // time to bring v in
  auto seen = truth;  // the first iteration read u in the middle, and no later one does
  seen.phases[1].cells = {reading(0, 40)};
  auto directed = seen;
  model::exclude_unused(directed, Directives({{"mid*", "u", false}}));
  EXPECT_TRUE(directed.phases[1].cells.empty());
  EXPECT_EQ(directed.phases[0].cells.size(), 1U);
  const auto without = takes(truth, seen, "auto");
  const auto with = takes(truth, directed, "auto");
  EXPECT_NEAR(with, best(truth), 1e-9 * with);
  EXPECT_GT(without, 1.01 * with);
}

// With a use in the middle, a move of u to slower memory is not requested before that phase is over.
TEST(Directives, UsesOfPhases_DetermineTheRequestingPhase) {
  auto problem = small_problem();
  Schedule schedule{{{0, 1}, {0, 1}, {1, 0}}};  // u leaves, v comes for the end
  const auto ask_of = [&](std::uint32_t item) {
    for (const auto& move : model::derive_moves(problem, schedule).moves)
      if (move.item == item && move.change == 2) return move.ask;
    return 99U;
  };
  EXPECT_EQ(ask_of(0), 1U);  // as soon as the first phase is over
  model::add_declared_uses(problem, Directives({{"middle", "u", true}}), k_exposed);
  EXPECT_EQ(ask_of(0), 2U);
  model::exclude_unused(problem, Directives({{"middle", "u", false}}));
  EXPECT_EQ(ask_of(0), 1U);
}

TEST(Directives, PhaseInSegments_DividesTheReading) {
  auto problem = small_problem();
  problem.phases[1].name = "begin@1000";
  problem.phases[2].name = "begin@2000";
  model::add_declared_uses(problem, Directives({{"begin", "v", true}}), k_exposed);
  EXPECT_DOUBLE_EQ(problem.phases[0].cells.at(1).read_bytes, k_size / 3);
  EXPECT_DOUBLE_EQ(problem.phases[1].cells.at(0).read_bytes, k_size / 3);
  EXPECT_EQ(problem.phases[2].cells.size(), 1U);  // the profile has seen that one
}

}  // namespace
}  // namespace terrace::strategy
