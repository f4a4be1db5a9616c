#include "model/lower_bound.hpp"

#include <algorithm>
#include <cmath>

#include "model/loads.hpp"

namespace terrace::model {
namespace {

constexpr int k_patience = 6;      // passes without progress before steps shrink
constexpr double k_memory = 0.35;  // weight of the newest subgradient in the average
constexpr double k_least_step = 1e-4;

// The nearest point of the simplex: prices >= 0 that sum to 1.
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

class Ascent {
 public:
  Ascent(const Problem& problem, double target, AscentLimits limits)
      : problem_(problem),
        target_(target),
        limits_(limits),
        relaxation_(problem),
        rows_(relaxation_.rows()),
        places_(problem.places.size()) {
    for (std::size_t k = 0; k < problem.phases.size(); ++k) {
      scale_.push_back(std::max(load_of(problem, k, home()).time(), 1e-12));
    }
  }

  LowerBound climb(Multipliers prices) {
    LowerBound bound;
    Activity activity;
    bound.prices = std::move(prices);
    bound.seconds = relaxation_.evaluate(bound.prices, activity);
    average_ = activity;
    double boldness = 1;
    int stalled = 0;
    for (bound.passes = 1; bound.passes < limits_.passes; ++bound.passes) {
      const auto missing = target_ - bound.seconds;
      if (missing <= limits_.tolerance * target_ || boldness < k_least_step) break;
      auto trial = bound.prices;
      if (!step(trial, boldness * missing)) break;
      const auto value = relaxation_.evaluate(trial, activity);
      mix(activity);
      if (value > bound.seconds) {
        if (value - bound.seconds < 0.01 * missing)
          ++stalled;
        else
          stalled = 0;
        bound.seconds = value;
        bound.prices = std::move(trial);
      } else {
        ++stalled;
      }
      if (stalled >= k_patience) {
        boldness *= 0.6;
        stalled = 0;
      }
    }
    return bound;
  }

  // Each phase's price on the row that bounds it with everything at home.
  [[nodiscard]] Multipliers start() const {
    Multipliers prices;
    prices.row.assign(problem_.phases.size() * rows_, 0);
    prices.capacity.assign(problem_.phases.size() * places_, 0);
    for (std::size_t k = 0; k < problem_.phases.size(); ++k) {
      const auto load = load_of(problem_, k, home());
      auto row = relaxation_.core_row();
      auto most = load.stalled();
      for (std::size_t p = 0; p < places_; ++p) {
        if (load.busy(p) > most) {
          most = load.busy(p);
          row = relaxation_.place_row(p);
        }
      }
      prices.row[k * rows_ + row] = 1;
    }
    return prices;
  }

 private:
  [[nodiscard]] Placement home() const {
    Placement placement;
    for (const auto& item : problem_.items) {
      placement.push_back(item.pinned != machine::k_no_place ? item.pinned : home_of(problem_, item.domain));
    }
    return placement;
  }
  void mix(const Activity& activity) {
    for (std::size_t i = 0; i < average_.row.size(); ++i) {
      average_.row[i] += k_memory * (activity.row[i] - average_.row[i]);
    }
    for (std::size_t i = 0; i < average_.capacity.size(); ++i) {
      average_.capacity[i] += k_memory * (activity.capacity[i] - average_.capacity[i]);
    }
  }
  // A step along the averaged subgradient that would gain `aim` seconds if the bound were linear. Capacity prices
  // count in shares of their phase's time for the whole budget, so that all components are seconds.
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
        const auto budget = std::max(static_cast<double>(problem_.places[p].budget.value), 1.0);
        capacities[i] = scale_[k] * (average_.capacity[i] / budget - 1);
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
        const auto budget = std::max(static_cast<double>(problem_.places[p].budget.value), 1.0);
        prices.capacity[i] = std::max(prices.capacity[i] + length * capacities[i] * scale_[k] / budget, 0.0);
      }
    }
    return true;
  }

  const Problem& problem_;
  double target_;
  AscentLimits limits_;
  Relaxation relaxation_;
  std::size_t rows_, places_;
  std::vector<double> scale_;  // by phase, s
  Activity average_;
};

}  // namespace

LowerBound lower_bound(const Problem& problem, double target, AscentLimits limits, Multipliers start) {
  Ascent ascent(problem, target, limits);
  return ascent.climb(start.row.empty() ? ascent.start() : std::move(start));
}

}  // namespace terrace::model
