// Everything in the fastest place of its domain, whatever the budget: what placement can gain at the very best.
#include "strategy/planners/planners.hpp"
#include "strategy/search/choose.hpp"

namespace terrace::strategy {
namespace {

class FastOnly final : public Planner {
 public:
  [[nodiscard]] std::string_view name() const override { return "fast-only"; }
  [[nodiscard]] bool needs_profile() const override { return false; }
  [[nodiscard]] Decision decide(const model::Problem& problem, const model::Calibration&, Effort) const override {
    std::vector<PlaceId> fastest;
    for (std::size_t d = 0; d < model::domain_count(problem); ++d) {
      const auto& places = model::fastest_first(problem, static_cast<DomainId>(d));
      fastest.push_back(places.empty() ? k_no_place : places.front());
    }
    Decision decision;
    decision.schedule = model::everything_in(problem, fastest);
    decision.prediction = model::predict(problem, decision.schedule);
    return decision;
  }
};

}  // namespace

const Planner& fast_only_planner() {
  static const FastOnly planner;
  return planner;
}

}  // namespace terrace::strategy
