// Streams what does not fit through the fast place: each phase (or segment of one) has in fast memory what is
// worth its room there, brought in ahead of its use while the copies keep up with the computation.
//
// Around the rule by which room is given (search/streamer.hpp) are six choices that depend on the machine and the
// program (Tuning there), so they are tried where there is time and the prediction decides.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "model/costs.hpp"
#include "model/loads.hpp"
#include "model/moves.hpp"
#include "strategy/planners/planners.hpp"
#include "strategy/search/choose.hpp"
#include "strategy/search/parts.hpp"
#include "strategy/search/streamer.hpp"

namespace terrace::strategy {
namespace {

constexpr int k_most_rounds_of_choices = 3;
constexpr double k_most_rounds = 24;  // of weighing and trying again
constexpr double k_work = 2e7;        // rounds x items x phases
constexpr std::array k_leads = {1U, 2U, 5U};
constexpr std::array k_worths = {0.0, 0.5};
constexpr std::array k_reserves = {0.0625, 0.125};
constexpr std::array k_patiences = {0.25, 0.5, 2.0};
constexpr std::array k_thrifts = {0.25, 0.5, 1.0};
// Where to begin: as it stands, where latency is what costs (copies are cheap, waits are not), and where bandwidth
// is.
constexpr std::array k_openings = {Tuning{}, Tuning{.lead = 2, .worth = 0, .patience = 0.25, .thrift = 0.5},
                                   Tuning{.lead = 1, .worth = 0.5}};
constexpr std::size_t k_choices =
    k_leads.size() + k_worths.size() + k_reserves.size() + k_patiences.size() + k_thrifts.size() + k_keeps.size();

Seconds takes_once(const model::Problem& problem) {
  return static_cast<double>(model::cell_count(problem)) * model::k_first_plan_cost +
         static_cast<double>(problem.items.size() * problem.phases.size()) * model::k_first_way_cost;
}

// The best schedule of all domains among those that were tried, and how it was streamed.
class Search {
 public:
  explicit Search(const model::Problem& problem) : index_(problem) {
    const auto domains = static_cast<DomainId>(model::domain_count(problem));
    for (DomainId domain = 0; domain < domains; ++domain) {
      const auto home = model::home_of(problem, domain);
      for (const auto place : model::fastest_first(problem, domain)) {
        if (place == home) break;
        if (problem.places[place].budget.value == 0) continue;
        streamers_.emplace_back(problem, domain, place, home);
        break;
      }
    }
  }
  [[nodiscard]] const Decision& found() const { return *found_; }

  void attempt(const Tuning& tuning) {
    if (found_ && tuning == tuning_) return;
    auto decision = streamed(tuning);
    if (found_ && decision.prediction.total >= found_->prediction.total) return;
    found_ = std::move(decision);
    tuning_ = tuning;
  }
  // One choice after another, each with the best of those before it.
  void choose(int rounds) {
    for (int round = 0; round < rounds; ++round) {
      const auto before = found_->prediction.total;
      with(&Tuning::lead, k_leads);
      with(&Tuning::worth, k_worths);
      with(&Tuning::reserve, k_reserves);
      with(&Tuning::patience, k_patiences);
      with(&Tuning::thrift, k_thrifts);
      with(&Tuning::keep, k_keeps);
      if (found_->prediction.total == before) break;
    }
  }
  void listen() {
    const auto& problem = index_.problem();
    const auto work = static_cast<double>(problem.items.size() * problem.phases.size() + 1);
    const auto rounds = static_cast<int>(std::min(k_work / work, k_most_rounds));
    auto last = found_->schedule;
    for (int round = 0; round < rounds; ++round) {
      for (auto& streamer : streamers_) streamer.weigh(last);
      auto decision = streamed(tuning_);
      last = decision.schedule;
      if (decision.prediction.total < found_->prediction.total) found_ = std::move(decision);
    }
  }

 private:
  void with(auto Tuning::*choice, const auto& values) {
    for (const auto value : values) {
      auto other = tuning_;
      other.*choice = value;
      attempt(other);
    }
  }
  Decision streamed(const Tuning& tuning) {
    const auto& problem = index_.problem();
    model::Schedule schedule;
    schedule.phases.assign(problem.phases.size(), at_home(problem));
    schedule.copies_keep = tuning.keep;
    for (auto& streamer : streamers_) streamer.fill(schedule, tuning);
    auto prediction = model::predict(index_, schedule);
    return {std::move(schedule), std::move(prediction), 0, 0};
  }

  model::ProblemIndex index_;
  std::vector<Streamer> streamers_;
  std::optional<Decision> found_;
  Tuning tuning_;
};

class Stream final : public Planner {
 public:
  [[nodiscard]] std::string_view name() const override { return "stream"; }
  [[nodiscard]] bool gains_by(const model::Problem& problem, Effort effort) const override {
    return effort != Effort::quick && problem.phases.size() > 1;
  }
  [[nodiscard]] Seconds takes(const model::Problem& problem, Effort effort) const override {
    return static_cast<double>(effort == Effort::quick ? 1 : k_openings.size() + k_choices) * takes_once(problem);
  }
  [[nodiscard]] Decision decide(const model::Problem& problem, const model::Calibration&,
                                Effort effort) const override {
    auto best = stay(problem, at_home(problem));
    if (problem.phases.size() < 2) return best;
    const auto better = [&](Decision other) {
      if (other.prediction.total < best.prediction.total) best = std::move(other);
    };
    if (effort == Effort::thorough) {
      for (auto& decision : stream_thoroughly(problem)) better(std::move(decision));
      return best;
    }
    Search search(problem);
    search.attempt(k_openings.front());
    if (effort == Effort::unhurried) {
      if (has_part("openings"))
        for (const auto& opening : k_openings) search.attempt(opening);
      if (has_part("grid")) search.choose(1);
    }
    better(search.found());
    return best;
  }
};

}  // namespace

Decision stream_otherwise(const model::Problem& problem) {
  Search search(problem);
  for (const auto& opening : k_openings)
    if (opening != k_openings.front()) search.attempt(opening);
  return search.found();
}

// Choices that are made one after another end elsewhere from another opening.
std::vector<Decision> stream_thoroughly(const model::Problem& problem) {
  std::vector<Decision> found;
  if (problem.phases.size() < 2) return found;
  for (const bool all : {false, true}) {
    Search search(problem);
    for (const auto& opening : k_openings)
      if ((all && has_part("openings")) || opening == k_openings.front()) search.attempt(opening);
    if (has_part("grid")) search.choose(k_most_rounds_of_choices);
    if (has_part("weights")) search.listen();
    found.push_back(search.found());
  }
  return found;
}

const Planner& stream_planner() {
  static const Stream planner;
  return planner;
}

const Variant& stream_variant() { return stream_planner(); }

}  // namespace terrace::strategy
