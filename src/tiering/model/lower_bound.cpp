// SPDX-License-Identifier: Apache-2.0
// Implements subgradient ascent with a Polyak step, averaged subgradients and restarts at the best prices, for the
// bound that planners and `terrace bounds` state. See lower_bound.hpp.
#include "model/lower_bound.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "core/error.hpp"
#include "model/loads.hpp"

namespace terrace::model {
namespace {

constexpr double k_memory = 0.15;       // weight of the newest subgradient in the average
constexpr double k_shrink = 0.5;        // of the step, after passes without gain
constexpr double k_grow = 1.2;          // of the step, after a gain
constexpr double k_largest_step = 1.5;  // relative to Polyak's
constexpr double k_min_step = 1e-6;
constexpr double k_min_share = 0.25;  // of a domain's data
constexpr double k_work = 4e6;        // items x phases x passes that take some tens of milliseconds

// Projects onto the simplex: prices >= 0 with the sum 1.
void project(double* prices, std::size_t n) {
  std::vector<double> sorted(prices, prices + n);
  std::sort(sorted.rbegin(), sorted.rend());
  double sum = 0, shift = 0;
  for (std::size_t i = 0; i < n; ++i) {
    sum += sorted[i];
    const auto candidate = (sum - 1) / static_cast<double>(i + 1);
    if (sorted[i] > candidate) shift = candidate;
  }
  for (std::size_t i = 0; i < n; ++i) prices[i] = std::max(prices[i] - shift, 0.0);
}

// Returns the placement of all items on their default places, or where they are pinned.
Placement at_home(const Problem& problem) {
  Placement placement;
  for (const auto& item : problem.items) {
    placement.push_back(item.pinned != k_no_place ? item.pinned : home_of(problem, item.domain));
  }
  return placement;
}

Multipliers no_prices(const Problem& problem) {
  Multipliers prices;
  prices.row.assign(problem.phases.size() * (problem.places.size() + 2), 0);
  prices.capacity.assign(problem.phases.size() * problem.places.size(), 0);
  return prices;
}

class Ascent {
 public:
  Ascent(const Problem& problem, double target, AscentLimits limits)
      : problem_(problem),
        target_(target),
        limits_(limits),
        relaxation_(problem),
        rows_(relaxation_.rows()),
        places_(problem.places.size()) {
    footprint_.assign(domain_count(problem), 0);
    for (const auto& item : problem.items) footprint_[item.domain] += static_cast<double>(item.size.value);
    for (std::size_t k = 0; k < problem.phases.size(); ++k) {
      scale_.push_back(std::max(load_of(problem, k, at_home(problem)).time(), 1e-12));
    }
  }

  // Ascends from these prices until the bound reaches the target, or passes or step size are exhausted.
  LowerBound climb(Multipliers prices) {
    LowerBound bound;
    Activity activity;
    bound.prices = std::move(prices);
    bound.seconds = relaxation_.evaluate(bound.prices, activity);
    average_ = activity;
    // Follow averaged subgradients; restart from the best prices when that stalls.
    auto prices_now = bound.prices;
    auto value_now = bound.seconds;
    double boldness = 1;
    int stalled = 0;
    const int patience = std::clamp(limits_.passes / 20, 3, 20);
    for (bound.passes = 1; bound.passes < limits_.passes; ++bound.passes) {
      if (target_ - bound.seconds <= limits_.tolerance * target_ || boldness < k_min_step) break;
      const auto aim = boldness * (target_ - value_now);
      if (!step(prices_now, aim)) break;
      value_now = relaxation_.evaluate(prices_now, activity);
      mix(activity);
      const auto gained = value_now - bound.seconds;
      ++stalled;
      if (gained > 0) {
        bound.seconds = value_now;
        bound.prices = prices_now;
        if (gained > 0.01 * aim) {
          stalled = 0;
          boldness = std::min(boldness * k_grow, k_largest_step);
        }
      }
      if (stalled >= patience) {
        stalled = 0;
        boldness *= k_shrink;
        prices_now = bound.prices;
        value_now = bound.seconds;
      }
    }
    return bound;
  }

  // Returns the better of two initial prices: on each phase's critical row with all items on default places, and
  // on its critical row for the best placement of its own (price_anywhere).
  [[nodiscard]] Multipliers start() {
    const auto home = prices_at_home(problem_);
    auto anywhere = no_prices(problem_);
    for (std::size_t k = 0; k < problem_.phases.size(); ++k) price_anywhere(k, &anywhere.row[k * rows_]);
    Activity activity;
    return relaxation_.evaluate(home, activity) > relaxation_.evaluate(anywhere, activity) ? home : anywhere;
  }

 private:
  // Prices the longer of two relaxations of one phase: the core row, with each item where it exposes least; or a
  // domain's bandwidth rows, with its traffic split so that its places are busy equally long.
  void price_anywhere(std::size_t k, double* row) const {
    double stalled = problem_.phases[k].core.value;
    std::vector<double> whole(places_, 0);
    for (const auto& cell : problem_.phases[k].cells) {
      double least = -1;
      for (std::size_t p = 0; p < places_; ++p) {
        if (problem_.places[p].domain != problem_.items[cell.item].domain) continue;
        const auto exposed = exposed_time(cell, problem_.places[p]);
        least = least < 0 ? exposed : std::min(least, exposed);
        whole[p] += busy_time(cell, problem_.places[p]);
      }
      stalled += std::max(least, 0.0);
    }
    double longest = 0, speed_of_longest = 0;
    std::size_t domain_of_longest = 0;
    for (std::size_t d = 0; d < domain_count(problem_); ++d) {
      double speed = 0;
      for (std::size_t p = 0; p < places_; ++p) {
        if (problem_.places[p].domain == d && whole[p] > 0) speed += 1 / whole[p];
      }
      if (speed <= 0 || 1 / speed <= longest) continue;
      longest = 1 / speed;
      speed_of_longest = speed;
      domain_of_longest = d;
    }
    if (longest <= stalled) {
      row[relaxation_.core_row()] = 1;
      return;
    }
    for (std::size_t p = 0; p < places_; ++p) {
      if (problem_.places[p].domain != domain_of_longest) continue;
      row[relaxation_.place_row(p)] = 1 / whole[p] / speed_of_longest;
    }
  }

  // Moves the averaged subgradient towards the newest one.
  void mix(const Activity& activity) {
    for (std::size_t i = 0; i < average_.row.size(); ++i) {
      average_.row[i] += k_memory * (activity.row[i] - average_.row[i]);
    }
    for (std::size_t i = 0; i < average_.capacity.size(); ++i) {
      average_.capacity[i] += k_memory * (activity.capacity[i] - average_.capacity[i]);
    }
  }

  // Returns the scale of a place's capacity prices. A tiny budget as the scale would let these prices dominate a
  // step.
  [[nodiscard]] double natural_size(std::size_t p) const {
    const auto& place = problem_.places[p];
    return std::max({static_cast<double>(place.budget.value), k_min_share * footprint_[place.domain], 1.0});
  }

  // Steps along the averaged subgradient, so far that a linear bound would gain `aim` seconds. Capacity prices are
  // scaled to their phase's time for natural_size() bytes, so that all components are seconds.
  bool step(Multipliers& prices, double aim) const {
    const auto phases = problem_.phases.size();
    std::vector<double> rows(prices.row.size(), 0), capacities(prices.capacity.size(), 0);
    double norm = 0;
    for (std::size_t k = 0; k < phases; ++k) {
      double mean = 0;
      for (std::size_t r = 0; r < rows_; ++r) mean += prices.row[k * rows_ + r] * average_.row[k * rows_ + r];
      for (std::size_t r = 0; r < rows_; ++r) {
        const auto i = k * rows_ + r;
        rows[i] = average_.row[i] - mean;
        if (prices.row[i] <= 0 && rows[i] < 0) rows[i] = 0;
        norm += rows[i] * rows[i];
      }
      for (std::size_t p = 0; p < places_; ++p) {
        if (!relaxation_.bounded(p)) continue;
        const auto i = k * places_ + p;
        const auto budget = natural_size(p);
        capacities[i] =
            scale_[k] * (average_.capacity[i] - static_cast<double>(problem_.places[p].budget.value)) / budget;
        if (prices.capacity[i] <= 0 && capacities[i] < 0) capacities[i] = 0;
        norm += capacities[i] * capacities[i];
      }
    }
    if (norm <= 0) return false;
    const auto length = aim / norm;
    for (std::size_t k = 0; k < phases; ++k) {
      for (std::size_t r = 0; r < rows_; ++r) prices.row[k * rows_ + r] += length * rows[k * rows_ + r];
      project(&prices.row[k * rows_], rows_);
      for (std::size_t p = 0; p < places_; ++p) {
        const auto i = k * places_ + p;
        const auto budget = natural_size(p);
        prices.capacity[i] = std::max(prices.capacity[i] + length * capacities[i] * scale_[k] / budget, 0.0);
      }
    }
    return true;
  }

  const Problem& problem_;
  std::vector<double> footprint_;  // by domain, bytes
  double target_;
  AscentLimits limits_;
  Relaxation relaxation_;
  std::size_t rows_, places_;
  std::vector<double> scale_;  // by phase, s
  Activity average_;
};

}  // namespace

Multipliers prices_at_home(const Problem& problem) {
  auto prices = no_prices(problem);
  const auto rows = problem.places.size() + 2;
  const auto placement = at_home(problem);
  for (std::size_t k = 0; k < problem.phases.size(); ++k) {
    const auto load = load_of(problem, k, placement);
    std::size_t longest = 0;  // the core row
    auto most = load.stalled();
    for (std::size_t p = 0; p < problem.places.size(); ++p) {
      if (load.busy(p) <= most) continue;
      most = load.busy(p);
      longest = 1 + p;
    }
    prices.row[k * rows + longest] = 1;
  }
  return prices;
}

int affordable_passes(const Problem& problem) {
  const auto pass = static_cast<double>(problem.items.size() * problem.phases.size() + 1);
  return static_cast<int>(std::clamp(k_work / pass, 10.0, 150.0));
}

LowerBound lower_bound(const Problem& problem, double target, AscentLimits limits, Multipliers start) {
  Ascent ascent(problem, target, limits);
  return ascent.climb(start.row.empty() ? ascent.start() : std::move(start));
}

Multipliers make_feasible(const Problem& problem, Multipliers prices) {
  const auto rows = problem.places.size() + 2, places = problem.places.size();
  const auto expected = no_prices(problem);
  if (prices.row.size() != expected.row.size() || prices.capacity.size() != expected.capacity.size())
    throw Error(Code::invalid, "prices of " + std::to_string(prices.row.size()) + " rows and " +
                                   std::to_string(prices.capacity.size()) + " capacities; this problem has " +
                                   std::to_string(expected.row.size()) + " and " +
                                   std::to_string(expected.capacity.size()) + "; pass prices of the same problem");
  const auto bounded = bounded_places(problem);
  for (std::size_t i = 0; i < prices.capacity.size(); ++i)
    prices.capacity[i] = bounded[i % places] ? std::max(prices.capacity[i], 0.0) : 0;
  for (auto& price : prices.row) price = std::max(price, 0.0);
  for (std::size_t k = 0; k < problem.phases.size(); ++k) {
    auto* row = &prices.row[k * rows];
    const auto sum = std::accumulate(row, row + rows, 0.0);
    if (sum > 0)
      std::for_each(row, row + rows, [&](double& price) { price /= sum; });
    else
      row[0] = 1;
  }
  return prices;
}

double bound_at(const Problem& problem, Multipliers prices) {
  Activity activity;
  return Relaxation(problem).evaluate(make_feasible(problem, std::move(prices)), activity);
}

}  // namespace terrace::model
