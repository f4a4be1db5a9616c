// Streams what does not fit through the fast place: each phase (or segment of one) has in fast memory what will be
// used soonest, brought in ahead of its use while the copies keep up with the computation.
//
// The rule is Belady's for prefetching: of what lies there, that goes whose next use is farthest away. Around it
// are three choices that depend on the machine and the program, so they are tried and the prediction decides: how
// many phases ahead data is brought, how much room is kept free for what is on its way, and how much a use must
// gain for each second of copying before it is worth a copy at all.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "model/loads.hpp"
#include "placement/planner/choose.hpp"
#include "placement/planner/planners.hpp"

namespace terrace::placement {
namespace {

using machine::PlaceId;

struct Tuning {
  std::uint32_t lead = 2;   // phases ahead of its use that data may be brought
  double reserve = 0.0625;  // share of the budget that is kept free for what is on its way
  double worth = 0.5;       // seconds gained for a second of copying
};

constexpr std::array k_leads = {1U, 3U, 5U};
constexpr std::array k_reserves = {0.0, 0.125, 0.25};
constexpr std::array k_worths = {0.0, 0.25, 1.0};

// One domain's items between its home and the fast place.
class Streamer {
 public:
  Streamer(const model::Problem& problem, machine::DomainId domain, PlaceId fast, PlaceId home)
      : problem_(problem), fast_(fast), home_(home), uses_(model::uses_by_item(problem)) {
    for (std::uint32_t i = 0; i < problem.items.size(); ++i) {
      const auto& item = problem.items[i];
      if (item.domain == domain && item.pinned == machine::k_no_place) items_.push_back(i);
      if (item.pinned == fast) pinned_ += static_cast<double>(item.size.value);
    }
    auto placement = at_home(problem);
    for (const auto i : items_) placement[i] = fast;
    for (std::size_t k = 0; k < problem.phases.size(); ++k)
      phase_time_.push_back(model::load_of(problem, k, placement).time());
  }

  // Writes the places of the domain's items into the schedule.
  void fill(model::Schedule& schedule, const Tuning& tuning) {
    find_useful(tuning.worth);
    const auto phases = static_cast<std::uint32_t>(problem_.phases.size());
    resident_.assign(problem_.items.size(), false);
    there_.clear();
    credit_ = 0;
    // The second round begins where the first one ended, as every later iteration does.
    for (std::uint32_t round = 0; round < 2; ++round)
      for (std::uint32_t k = 0; k < phases; ++k) {
        advance(k, tuning);
        for (const auto i : items_) schedule.phases[k][i] = resident_[i] ? fast_ : home_;
      }
  }

 private:
  struct Candidate {
    std::uint32_t item = 0;
    std::uint32_t distance = 0;  // phases until its next use
    double density = 0;          // seconds that the use gains for each byte
  };

  [[nodiscard]] double copy_time(std::uint32_t item) const {
    const auto size = static_cast<double>(problem_.items[item].size.value);
    return size / problem_.copy[home_][fast_] + size / problem_.copy[fast_][home_];
  }
  // What the use is worth: the latency that it no longer exposes, and the bandwidth that it no longer takes.
  [[nodiscard]] double gain(const model::ItemCell& cell) const {
    const auto& fast = problem_.places[fast_];
    const auto& home = problem_.places[home_];
    return std::max(model::exposed_time(cell, home) - model::exposed_time(cell, fast),
                    model::busy_time(cell, home) - model::busy_time(cell, fast));
  }
  void find_useful(double worth) {
    useful_.assign(problem_.items.size(), {});
    used_in_.assign(problem_.phases.size(), {});
    for (const auto i : items_)
      for (const auto& use : uses_[i]) {
        const auto gained = gain(*use.cell);
        if (gained <= worth * copy_time(i)) continue;
        useful_[i].push_back({use.phase, gained});
        used_in_[use.phase].push_back(i);
      }
  }
  // The item's next useful use from phase k on, going round.
  [[nodiscard]] Candidate next_use(std::uint32_t item, std::uint32_t k) const {
    const auto& uses = useful_[item];
    const auto phases = static_cast<std::uint32_t>(problem_.phases.size());
    auto found = std::lower_bound(uses.begin(), uses.end(), k,
                                  [](const Useful& u, std::uint32_t p) { return u.phase < p; });
    const auto distance = found != uses.end() ? found->phase - k : uses.front().phase + phases - k;
    if (found == uses.end()) found = uses.begin();
    return {item, distance, found->gained / static_cast<double>(problem_.items[item].size.value)};
  }

  void advance(std::uint32_t k, const Tuning& tuning) {
    // Only what lies there, and what is used soon, can lie there next.
    const auto phases = static_cast<std::uint32_t>(problem_.phases.size());
    auto soon = there_;
    for (std::uint32_t ahead = 0; ahead <= std::min(tuning.lead, phases - 1); ++ahead)
      for (const auto i : used_in_[(k + ahead) % phases])
        if (!resident_[i]) soon.push_back(i);
    std::sort(soon.begin(), soon.end());
    soon.erase(std::unique(soon.begin(), soon.end()), soon.end());
    std::vector<Candidate> candidates;
    for (const auto i : soon) candidates.push_back(next_use(i, k));
    there_.clear();
    std::sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
      if (a.distance != b.distance) return a.distance < b.distance;
      return a.density != b.density ? a.density > b.density : a.item < b.item;
    });
    // The copy engine works beside the phases; what it did not use it cannot save up for long.
    const auto ahead = phase_time_[k] * (tuning.lead + 1);
    credit_ = std::min(credit_ + phase_time_[k], ahead);
    auto room = (static_cast<double>(problem_.places[fast_].budget.value) - pinned_) * (1 - tuning.reserve);
    for (const auto& candidate : candidates) {
      const auto size = static_cast<double>(problem_.items[candidate.item].size.value);
      const bool stays = resident_[candidate.item];
      const auto cost = copy_time(candidate.item);
      resident_[candidate.item] = size <= room && (stays || cost <= credit_);
      if (!resident_[candidate.item]) continue;
      there_.push_back(candidate.item);
      room -= size;
      if (!stays) credit_ -= cost;
    }
  }

  struct Useful {
    std::uint32_t phase = 0;
    double gained = 0;
  };
  const model::Problem& problem_;
  PlaceId fast_;
  PlaceId home_;
  model::Uses uses_;
  std::vector<std::uint32_t> items_;
  double pinned_ = 0;                                // bytes of the fast place that are taken for good
  std::vector<double> phase_time_;                   // with everything in fast memory
  std::vector<std::vector<Useful>> useful_;          // by item
  std::vector<std::vector<std::uint32_t>> used_in_;  // by phase: items with a useful use
  std::vector<bool> resident_;                       // by item
  std::vector<std::uint32_t> there_;                 // the items that are
  double credit_ = 0;                                // seconds that the copy engine has to spare
};

class Stream final : public Planner {
 public:
  [[nodiscard]] std::string_view name() const override { return "stream"; }
  [[nodiscard]] Decision decide(const model::Problem& problem, const model::Calibration&) const override {
    auto best = stay(problem, at_home(problem));
    if (problem.phases.size() < 2) return best;
    std::vector<Streamer> streamers;
    for (machine::DomainId domain = 0; domain < model::domain_count(problem); ++domain) {
      const auto home = model::home_of(problem, domain);
      for (const auto place : model::fastest_first(problem, domain)) {
        if (place == home) break;
        if (problem.places[place].budget.value == 0) continue;
        streamers.emplace_back(problem, domain, place, home);
        break;
      }
    }
    // One choice after another, each with the best of those before it.
    Tuning tuning;
    auto found = streamed(problem, streamers, tuning);
    const auto attempt = [&](const Tuning& other) {
      auto decision = streamed(problem, streamers, other);
      if (decision.prediction.total >= found.prediction.total) return;
      found = std::move(decision);
      tuning = other;
    };
    for (const auto lead : k_leads) attempt({lead, tuning.reserve, tuning.worth});
    for (const auto reserve : k_reserves) attempt({tuning.lead, reserve, tuning.worth});
    for (const auto worth : k_worths) attempt({tuning.lead, tuning.reserve, worth});
    if (found.prediction.total < best.prediction.total) best = std::move(found);
    return best;
  }

 private:
  static Decision streamed(const model::Problem& problem, std::vector<Streamer>& streamers, const Tuning& tuning) {
    model::Schedule schedule;
    schedule.phases.assign(problem.phases.size(), at_home(problem));
    for (auto& streamer : streamers) streamer.fill(schedule, tuning);
    auto prediction = model::predict(problem, schedule);
    return {std::move(schedule), std::move(prediction), 0, 0};
  }
};

}  // namespace

const Planner& stream_planner() {
  static const Stream planner;
  return planner;
}

}  // namespace terrace::placement
