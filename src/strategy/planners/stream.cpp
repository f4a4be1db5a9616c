// Streams what does not fit through the fast place: each phase (or segment of one) has in fast memory what is
// worth its room there, brought in ahead of its use while the copies keep up with the computation.
//
// Room is given in the order of what it gains: the seconds that an item's next uses gain, for each byte and each
// second until the last of them. That is Belady's rule where all uses gain alike. Around it are six choices that
// depend on the machine and the program, so they are tried where there is time and the prediction decides: see
// Tuning.
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

namespace terrace::strategy {
namespace {

struct Tuning {
  std::uint32_t lead = 3;  // phases ahead of its use that data may be brought
  double reserve = 0;      // share of the budget that is kept free for what is on its way
  double worth = 0.25;     // seconds gained for a second of copying: what bringing costs, and what staying saves
  double patience = 1;     // seconds gained for a second of waiting
  double thrift = 0;       // seconds lost for a second of fast memory's bandwidth
  double keep = 0.25;      // of a place's bandwidth, what copies have at least (Schedule::copies_keep)

  bool operator==(const Tuning&) const = default;
};

constexpr std::size_t k_uses_looked_at = 5;
constexpr double k_louder = 1.5;
constexpr double k_quieter = 0.9;
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

// One domain's items between its home and the fast place.
class Streamer {
 public:
  Streamer(const model::Problem& problem, DomainId domain, PlaceId fast, PlaceId home)
      : problem_(problem), fast_(fast), home_(home), uses_(model::uses_by_item(problem)) {
    for (std::uint32_t i = 0; i < problem.items.size(); ++i) {
      const auto& item = problem.items[i];
      if (item.domain == domain && item.pinned == k_no_place) items_.push_back(i);
      if (item.pinned == fast) pinned_ += static_cast<double>(item.size.value);
    }
    auto placement = at_home(problem);
    for (const auto i : items_) placement[i] = fast;
    for (std::size_t k = 0; k < problem.phases.size(); ++k) {
      const auto load = model::load_of(problem, k, placement);
      phase_time_.push_back(load.time());
      left_.push_back(load.time() > 0 ? 1 - load.busy(fast) / load.time() : 1);
    }
    copying_.resize(problem.phases.size());
    gains_.resize(problem.items.size());
    considered_.resize(problem.items.size(), 0);
    used_in_.resize(problem.phases.size());
    double end = 0;
    for (const auto time : phase_time_) end_.push_back(end += time);
    for (const auto i : items_)
      for (const auto& use : uses_[i]) {
        const auto gained = std::max(gain(*use.cell), 0.0);
        const auto busy = model::busy_time(*use.cell, problem.places[fast]);
        if (gained <= 0 && busy <= 0) continue;
        gains_[i].push_back({use.phase, gained, busy});
        if (gained > 0) used_in_[use.phase].push_back(i);
      }
  }

  // Writes the places of the domain's items into the schedule.
  void fill(model::Schedule& schedule, const Tuning& tuning) {
    // A copy into fast memory gets what the phase leaves of it, at least what copies keep.
    const auto full = problem_.copy[home_][fast_] / problem_.places[fast_].write_bandwidth;
    double copied = 0;
    for (std::size_t k = 0; k < copying_.size(); ++k)
      copying_[k] = copied += phase_time_[k] * std::min(1.0, std::max(left_[k], tuning.keep) / full);
    const auto phases = static_cast<std::uint32_t>(problem_.phases.size());
    resident_.assign(problem_.items.size(), false);
    incoming_.assign(problem_.items.size(), false);
    there_.clear();
    backlog_ = 0;
    // The second round begins where the first one ended, as every later iteration does.
    for (std::uint32_t round = 0; round < 2; ++round) {
      cursor_.assign(problem_.items.size(), 0);
      for (std::uint32_t k = 0; k < phases; ++k) {
        advance(k, tuning);
        if (round == 0) continue;
        for (const auto i : there_)
          if (!incoming_[i]) schedule.phases[k][i] = fast_;
      }
    }
  }

  // Where room went to the wrong uses shows in the whole: those that did not find their data in fast memory weigh
  // more in the next attempt, the others a little less (squeaky wheel optimisation: Joslin and Clements, Journal
  // of Artificial Intelligence Research 10, 1999).
  void weigh(const model::Schedule& schedule) {
    for (const auto i : items_)
      for (auto& use : gains_[i]) use.weight *= schedule.phases[use.phase][i] == fast_ ? k_quieter : k_louder;
  }

 private:
  struct Use {
    std::uint32_t phase = 0;
    double gained = 0;
    double busy = 0;  // seconds of fast memory's bandwidth
    double weight = 1;
  };
  struct Candidate {
    double gained = 0;
    std::uint32_t item = 0;
    double score = 0;        // seconds gained for each byte and second of room
    std::uint32_t next = 0;  // phases until its next use
  };

  [[nodiscard]] double copy_in(std::uint32_t item) const {
    return static_cast<double>(problem_.items[item].size.value) / problem_.copy[home_][fast_];
  }
  [[nodiscard]] double copy_out(std::uint32_t item) const {
    return static_cast<double>(problem_.items[item].size.value) / problem_.copy[fast_][home_];
  }
  // What the use is worth: the latency that it no longer exposes, and the bandwidth that it no longer takes.
  [[nodiscard]] double gain(const model::ItemCell& cell) const {
    const auto& fast = problem_.places[fast_];
    const auto& home = problem_.places[home_];
    return std::max(model::exposed_time(cell, home) - model::exposed_time(cell, fast),
                    model::busy_time(cell, home) - model::busy_time(cell, fast));
  }
  // Of running sums by phase: what falls on `count` of them, one or more, from phase k on, going round.
  [[nodiscard]] static double over(const std::vector<double>& sums, std::uint32_t k, std::size_t count) {
    const auto last = k + count - 1;
    const auto rounds = last / sums.size();
    return sums[last % sums.size()] + static_cast<double>(rounds) * sums.back() - (k == 0 ? 0 : sums[k - 1]);
  }
  // The item's first use from phase k on; one behind the last when the next one comes in the next
  // iteration. Phases are asked for in their order, as advance() goes through them.
  [[nodiscard]] std::size_t next_use(std::uint32_t item, std::uint32_t k) {
    const auto& uses = gains_[item];
    auto& at = cursor_[item];
    while (at < uses.size() && uses[at].phase < k) ++at;
    return at;
  }
  [[nodiscard]] bool touched(std::uint32_t item, std::uint32_t k) const {
    const auto& uses = uses_[item];
    const auto found = std::lower_bound(
        uses.begin(), uses.end(), k, [](const model::Use& use, std::uint32_t phase) { return use.phase < phase; });
    return found != uses.end() && found->phase == k;
  }
  // What room for the item is worth from phase k on: the most that its next uses gain a second until the last of
  // them.
  [[nodiscard]] Candidate candidate(std::uint32_t item, std::uint32_t k, const Tuning& tuning) {
    const auto& uses = gains_[item];
    const auto size = static_cast<double>(problem_.items[item].size.value);
    const auto moving =
        tuning.worth * (copy_in(item) + copy_out(item)) + 2 * problem_.asking * problem_.items[item].chunks;
    Candidate best{0, item, 0, 0};
    auto gained = resident_[item] ? moving : -moving;
    auto at = next_use(item, k);
    auto begin = k == 0 ? 0 : end_[k - 1];  // of phase k, seen from the use's iteration
    std::size_t gaining = 0;
    bool wraps = false;
    for (std::size_t n = 0; n < uses.size() && gaining < k_uses_looked_at; ++n, ++at) {
      if (at == uses.size()) {
        wraps = true;
        at = 0;
        begin -= end_.back();
      }
      const auto& use = uses[at];
      gained += use.gained * use.weight - tuning.thrift * use.busy;
      if (use.gained <= 0) continue;
      if (gaining++ == 0)
        best.next = use.phase + (wraps ? static_cast<std::uint32_t>(problem_.phases.size()) : 0) - k;
      if (const auto score = gained / (end_[use.phase] - begin); score > best.score) {
        best.score = score;
        best.gained = gained;
      }
    }
    best.score /= size;
    return best;
  }

  // How long the item's next use would wait for a move that is asked for now.
  [[nodiscard]] double lateness(const Candidate& one, std::uint32_t k) const {
    const auto copying = backlog_ + copy_in(one.item);
    if (one.next == 0) return copying;
    return std::max(copying - over(copying_, k, one.next), 0.0);
  }

  // Fast memory in phase k has what was kept and what came during the phase before; what comes during this one
  // takes its room now and is there from the next one on.
  void advance(std::uint32_t k, const Tuning& tuning) {
    const auto phases = static_cast<std::uint32_t>(problem_.phases.size());
    std::vector<Candidate> candidates;
    const auto consider = [&](std::uint32_t item) {
      if (auto one = candidate(item, k, tuning); one.score > 0) candidates.push_back(one);
    };
    for (const auto i : there_) consider(i);
    ++turn_;
    for (std::uint32_t ahead = 0; ahead <= std::min(tuning.lead, phases - 1); ++ahead)
      for (const auto i : used_in_[(k + ahead) % phases])
        if (!resident_[i] && std::exchange(considered_[i], turn_) != turn_) consider(i);
    for (const auto i : there_) incoming_[i] = false;
    const auto before = std::exchange(there_, {});
    std::sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
      return a.score != b.score ? a.score > b.score : a.item < b.item;
    });
    auto room = (static_cast<double>(problem_.places[fast_].budget.value) - pinned_) * (1 - tuning.reserve);
    for (const auto& one : candidates) {
      const auto size = static_cast<double>(problem_.items[one.item].size.value);
      const bool comes = !resident_[one.item];
      const auto late = comes ? lateness(one, k) : 0;
      if (size > room || tuning.patience * late >= one.gained) continue;
      if (comes && one.next > 0 && touched(one.item, k)) continue;  // it cannot leave its place meanwhile
      room -= size;
      if (comes) backlog_ += copy_in(one.item) - late;  // while a phase waits, copies go on
      there_.push_back(one.item);
      incoming_[one.item] = comes && one.next > 0;
    }
    for (const auto i : before) resident_[i] = false;
    for (const auto i : there_) resident_[i] = true;
    for (const auto i : before)
      if (!resident_[i]) backlog_ += copy_out(i);
    backlog_ = std::max(backlog_ - over(copying_, k, 1), 0.0);
  }

  const model::Problem& problem_;
  PlaceId fast_;
  PlaceId home_;
  model::Uses uses_;
  std::vector<std::uint32_t> items_;
  double pinned_ = 0;                                // bytes of the fast place that are taken for good
  std::vector<double> phase_time_;                   // with everything in fast memory
  std::vector<double> left_;                         // share of fast memory's bandwidth that it then leaves
  std::vector<double> copying_;                      // seconds of copying beside the phases, to the end of each
  std::vector<double> end_;                          // of each phase, from the iteration's begin
  std::vector<std::vector<Use>> gains_;              // by item
  std::vector<std::vector<std::uint32_t>> used_in_;  // by phase: items with a use that gains
  std::vector<std::size_t> cursor_;                  // by item: the use that comes next
  std::uint64_t turn_ = 0;                           // calls of advance()
  std::vector<std::uint64_t> considered_;            // by item: the last turn in which it was a candidate to come
  std::vector<bool> resident_;                       // by item: there, or on its way there
  std::vector<bool> incoming_;                       // by item: on its way
  std::vector<std::uint32_t> there_;                 // the items that are
  double backlog_ = 0;                               // seconds of copying that are asked for
};

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
      for (const auto& opening : k_openings) search.attempt(opening);
      search.choose(1);
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
      if (all || opening == k_openings.front()) search.attempt(opening);
    search.choose(k_most_rounds_of_choices);
    search.listen();
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
