// The joint planner: all phases, all moves and all places at once, guided by the prices of the lower bound
// (planning.md). Items are rounded in the order of what the prices say they gain by the byte, each on its best way
// through the phases with those before it in place; then the prices fade from row to row into the phases' true
// times while every item is tried again, and neighbours at the edge of what fits exchange their ways.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>

#include "model/costs.hpp"
#include "model/lower_bound.hpp"
#include "model/moves.hpp"
#include "strategy/planners/planners.hpp"
#include "strategy/search/choose.hpp"
#include "strategy/search/joint_search.hpp"
#include "strategy/search/parts.hpp"
#include "strategy/search/refine.hpp"
#include "strategy/search/stay_search.hpp"

namespace terrace::strategy {
namespace {

constexpr int k_rounds = 2;              // of: climb the bound, round its prices
constexpr int k_polishing = 6;           // sweeps, at most
constexpr double k_within_reach = 0.95;  // of the published planner's: what streaming may yet better in a hurry
constexpr int k_quick_share = 16;        // of the climb's passes, one in so many
constexpr int k_unhurried_share = 8;
constexpr double k_exchanges = 5e4;      // attempts x phases
constexpr double k_widest_edge = 48;     // items on each side of it that try to exchange
constexpr double k_close_enough = 1e-3;  // of the bound: nothing is left to be found
// Of a refinement: items x phases that are predicted.
constexpr double k_soon_work = 4e5;
constexpr double k_thorough_work = 2e7;
// Items x phases up to which ways are searched.
constexpr std::size_t k_soon_searched = 100'000;
constexpr std::size_t k_searched = 500'000;

class Joint final : public Planner {
 public:
  [[nodiscard]] std::string_view name() const override { return "joint"; }
  [[nodiscard]] Decision decide(const model::Problem& problem, const model::Calibration& calibration,
                                Effort effort) const override {
    if (effort != Effort::thorough || problem.phases.size() < 2)
      return decide_after(stream_planner().decide(problem, calibration, effort), problem, calibration, effort);
    Decision best;
    std::uint32_t searches = 0;
    for (const auto& streamed : stream_thoroughly(problem)) {
      auto found = search(streamed, problem, calibration, effort, ++searches);
      const auto bound = std::max(found.lower_bound, best.lower_bound);
      if (searches == 1)
        best = std::move(found);
      else
        better(std::move(found), best);
      prove(bound, best);
    }
    return best;
  }
  [[nodiscard]] Decision decide_after(const Decision& streamed, const model::Problem& problem,
                                      const model::Calibration& calibration, Effort effort) const override {
    return search(streamed, problem, calibration, effort, 1);
  }
  [[nodiscard]] const Planner* meanwhile() const override { return &stream_planner(); }
  [[nodiscard]] bool gains_by(const model::Problem& problem, Effort effort) const override {
    return effort != Effort::quick && problem.phases.size() > 1;
  }
  [[nodiscard]] Seconds takes(const model::Problem& problem, Effort effort) const override {
    const auto ways = static_cast<double>(problem.items.size() * problem.phases.size());
    const auto quick = Planner::takes(problem, effort);
    if (effort == Effort::quick) return quick;
    return quick + stream_planner().takes(problem, effort) +
           (searches(problem, effort) ? ways * model::k_search_cost : Seconds{});
  }

 private:
  static Decision search(const Decision& streamed, const model::Problem& problem,
                         const model::Calibration& calibration, Effort effort, std::uint32_t seed) {
    const model::ProblemIndex index(problem);
    auto best = stay(problem, at_home(problem));
    better(streamed, best);
    auto published = unimem_planner().decide(problem, calibration, effort);
    const bool streams = published.prediction.total > k_within_reach * best.prediction.total;
    better(std::move(published), best);
    if (effort == Effort::quick && streams && problem.phases.size() > 1) better(stream_otherwise(problem), best);
    const auto unexplained = unexplained_time(problem);
    const int passes = model::affordable_passes(problem);
    const bool hurried = effort != Effort::thorough;
    const auto share = effort == Effort::quick ? k_quick_share : hurried ? k_unhurried_share : 1;
    const model::AscentLimits limits{.passes = passes / share};
    model::LowerBound bound;
    for (int round = 0; round < (hurried ? 1 : k_rounds); ++round) {
      bound =
          model::lower_bound(problem, best.prediction.total.value - unexplained, limits, std::move(bound.prices));
      if (close(best, bound, unexplained)) break;
      const auto before = best.prediction.total;
      if (has_part("stays")) consider(index, round_stays(index, bound.prices), best);
      // The bound may end in prices that leave the bandwidths out of account; those at home never do.
      if (round == 0 && has_part("stays"))
        consider(index, round_stays(index, model::prices_at_home(problem)), best);
      if (searches(problem, effort)) {
        if (has_part("rounding")) consider(index, round_moves(problem, bound.prices), best);
        if (has_part("polish")) polish(index, bound.prices, best);
      }
      if (effort != Effort::quick && has_part("rates")) limit_rates(index, best);
      if (close(best, bound, unexplained) || best.prediction.total == before) break;
    }
    if (effort != Effort::quick && !close(best, bound, unexplained)) {
      if (has_part("refine")) refine(problem, hurried ? k_soon_work : k_thorough_work, seed, best);
      if (has_part("rates")) limit_rates(index, best);
    }
    prove(bound.seconds, best);
    return best;
  }

  // An exact problem's bound does not hold the times that depend on the placement in ways that the law cannot say.
  static double unexplained_time(const model::Problem& problem) {
    double sum = 0;
    for (const auto& phase : problem.phases) sum += problem.exact ? phase.unexplained.value : 0;
    return sum;
  }

  static void prove(double bound, Decision& best) {
    const auto total = best.prediction.total.value;
    best.lower_bound = bound;
    best.gap = total > 0 ? std::max(1 - bound / total, 0.0) : 0;
  }
  static void better(Decision other, Decision& best) {
    if (other.prediction.total < best.prediction.total) best = std::move(other);
  }
  static bool close(const Decision& best, const model::LowerBound& bound, double unexplained) {
    const auto total = best.prediction.total.value;
    return total - unexplained - bound.seconds <= k_close_enough * total;
  }
  static bool searches(const model::Problem& problem, Effort effort) {
    if (effort == Effort::quick || problem.phases.size() < 2) return false;
    const auto most = effort == Effort::unhurried ? k_soon_searched : k_searched;
    return problem.items.size() * problem.phases.size() <= most;
  }

  // Every item again, with all others where the best schedule has them, as long as the prediction gains by it.
  static void polish(const model::ProblemIndex& index, const model::Multipliers& prices, Decision& best) {
    const auto& problem = index.problem();
    JointSearch search(problem, best.schedule);
    for (const bool smooth : {true, false}) {
      search.smooth(smooth);
      for (int sweep = 0; sweep < k_polishing; ++sweep) {
        bool changed = false;
        for (std::uint32_t i = 0; i < problem.items.size(); ++i)
          changed = search.improve(i, {&prices, 0, 0}) || changed;
        if (!changed) break;
        consider(index, search.schedule(), best);
      }
    }
  }

  static void consider(const model::ProblemIndex& index, model::Schedule schedule, Decision& best) {
    if (!model::within_budget(index.problem(), schedule)) return;
    auto prediction = model::predict(index, schedule);
    if (prediction.total >= best.prediction.total) return;
    best.schedule = std::move(schedule);
    best.prediction = std::move(prediction);
  }

  // The same moves, held back more or less.
  static void limit_rates(const model::ProblemIndex& index, Decision& best) {
    for (const auto keep : k_keeps) {
      auto schedule = best.schedule;
      schedule.copies_keep = keep;
      consider(index, std::move(schedule), best);
    }
  }

  // What the rows' prices say that an item gains by the byte in the fastest place of its domain.
  static std::vector<double> densities(const model::Problem& problem, const model::Multipliers& prices) {
    std::vector<double> gains(problem.items.size(), 0);
    const auto rows = problem.places.size() + 2;
    for (std::size_t k = 0; k < problem.phases.size(); ++k) {
      const auto* row = &prices.row[k * rows];
      for (const auto& cell : problem.phases[k].cells) {
        const auto domain = problem.items[cell.item].domain;
        const auto home = model::home_of(problem, domain);
        const auto fast = model::fastest_first(problem, domain).front();
        const auto cost = [&](PlaceId p) {
          return row[0] * model::exposed_time(cell, problem.places[p]) +
                 row[1 + p] * model::busy_time(cell, problem.places[p]);
        };
        gains[cell.item] += cost(home) - cost(fast);
      }
    }
    for (std::size_t i = 0; i < gains.size(); ++i) {
      gains[i] /= static_cast<double>(std::max<std::uint64_t>(problem.items[i].size.value, 1));
    }
    return gains;
  }

  static std::vector<std::uint32_t> densest_first(const model::Problem& problem,
                                                  const model::Multipliers& prices) {
    const auto density = densities(problem, prices);
    std::vector<std::uint32_t> order(problem.items.size());
    std::iota(order.begin(), order.end(), 0U);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return density[a] > density[b]; });
    return order;
  }

  // One place for each item and the whole iteration.
  static model::Schedule round_stays(const model::ProblemIndex& index, const model::Multipliers& prices) {
    const auto& problem = index.problem();
    StaySearch search(index, prices);
    auto best = search.placement();
    rounded(
        problem, search, densest_first(problem, prices),
        [&](std::uint32_t item, double fade) { search.improve(item, fade, fade); },
        [&] { best = search.placement(); });
    return {std::vector<model::Placement>(problem.phases.size(), best)};
  }

  static model::Schedule round_moves(const model::Problem& problem, const model::Multipliers& prices) {
    JointSearch search(problem);
    auto best = search.schedule();
    rounded(
        problem, search, densest_first(problem, prices),
        [&](std::uint32_t item, double fade) {
          search.improve(item, {&prices, fade, fade});
        },
        [&] { best = search.schedule(); });
    return best;
  }

  // The prices fade into the phases' times; `keep` is told whenever the search has found something better.
  template <class Search, class Improve, class Keep>
  static void rounded(const model::Problem& problem, Search& search, const std::vector<std::uint32_t>& order,
                      const Improve& improve, const Keep& keep) {
    auto least = search.seconds();
    const auto compare = [&] {
      if (search.seconds() >= least) return;
      least = search.seconds();
      keep();
    };
    for (const double fade : {1.0, 0.5, 0.2, 0.0, 0.0}) {
      for (const auto item : order) improve(item, fade);
      compare();
    }
    const auto edge = std::min(k_widest_edge, std::sqrt(k_exchanges / static_cast<double>(problem.phases.size())));
    if (has_part("exchanges")) exchange_at_the_edge(search, order, static_cast<std::size_t>(edge));
    for (const auto item : order) improve(item, 0);
    compare();
  }

  // The last items that are in and the first that are not.
  template <class Search>
  static void exchange_at_the_edge(Search& search, const std::vector<std::uint32_t>& order, std::size_t edge) {
    std::vector<std::uint32_t> in, out;
    for (auto it = order.rbegin(); it != order.rend() && in.size() < edge; ++it) {
      if (!search.at_home(*it)) in.push_back(*it);
    }
    for (auto it = order.begin(); it != order.end() && out.size() < edge; ++it) {
      if (search.at_home(*it)) out.push_back(*it);
    }
    for (auto& inside : in) {
      for (auto& outside : out) {
        if (search.exchange(inside, outside)) std::swap(inside, outside);
      }
    }
  }
};

}  // namespace

const Planner& joint_planner() {
  static const Joint planner;
  return planner;
}

const Variant& joint_variant() { return joint_planner(); }

}  // namespace terrace::strategy
