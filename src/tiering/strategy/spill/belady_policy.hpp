// Chunks by when they are used next, as each thread's history has it: what is used soonest comes in, what is used
// last leaves (Belady 1966, whose future is known; here it is the past's). Where a thread does not repeat itself
// rows of neighbours are expected to go on, and each chunk is expected after as many touches as were between its
// last two: so of a sweep that comes round again, in whatever order, the same part stays. What was touched once
// leaves first, the longest ago.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "strategy/spill/forecast.hpp"
#include "strategy/spill/forecast_windows.hpp"
#include "strategy/spill/touch_history.hpp"
#include "transfer/spill/replacement_policy.hpp"

namespace terrace::strategy {

class BeladyPolicy final : public transfer::ReplacementPolicy {
 public:
  bool on_access(ChunkId chunk, std::uint32_t thread, Seconds worked) noexcept override;
  transfer::PredictionTotals predicted(const transfer::SpillStatistics& measured) noexcept override;
  void on_state_change(ChunkId chunk, transfer::PageState to) noexcept override;
  std::optional<Choice> next_prefetch() noexcept override;
  std::optional<ChunkId> next_sentinel() noexcept override;
  std::optional<Choice> next_victim() noexcept override;
  // All threads that touch something have repeated themselves since they last did something else.
  [[nodiscard]] bool is_known() const noexcept;
  // The time that threads took from touch to touch, in all, and the work that they did in it, which is the same
  // for the same touches, wherever data were.
  struct Progress {
    Seconds taken, done;
  };
  [[nodiscard]] Progress progress() const noexcept { return progress_; }

 private:
  static constexpr double k_learned = 0.9;         // share of touches that has to come as expected for that
  static constexpr std::uint64_t k_active = 1024;  // touches of all since a thread's latest
  static constexpr std::size_t k_min_active = 2;   // threads, as which one counts
  struct Known {
    double when = 0;             // in seconds of work, or far beyond
    std::uint64_t touched = 0;   // at which touch of all
    std::uint64_t in_use = 0;    // until that touch it is likely to be used again
    std::uint64_t interval = 0;  // touches of all between its last two; 0: it has had one
    transfer::PageState residence = transfer::PageState::empty;
    bool ahead = false;
  };
  struct Thread {
    TouchHistory history;
    struct Row {  // neighbours that were touched one after the other, whatever else was between
      ChunkId latest = 0;
      std::uint32_t length = 0;
      std::uint64_t touched = 0;
    };
    std::array<Row, 8> rows{};
    bool trusted = false;
    bool learned = false;               // its history has every touch, as far as it repeats itself
    std::size_t streak = 0;             // touches that came as expected, one after the other
    double offset = 0;                  // of its history's times
    double worked = 0;                  // in all, in seconds
    std::optional<Progress> counted;    // by the clock and its history, at its latest touch
    struct Course {                     // since it was elsewhere
      std::size_t touches = 0;          // by which it has come on
      double worked = 0, expected = 0;  // seconds, and those that it took the last time
    };
    Course course;
    std::uint64_t touched = 0;     // at which touch of all, lately
    std::size_t looked_ahead = 0;  // touches from now on among which marks were chosen
    std::uint32_t unmarked = 0;    // quiet chunks behind the last of them
  };
  using Order = std::set<std::pair<double, ChunkId>>;

  [[nodiscard]] double when(ChunkId chunk) const;
  void count_active();
  [[nodiscard]] Order* order_of(transfer::PageState residence);
  [[nodiscard]] bool is_unnoticed(ChunkId chunk) const;
  void put(ChunkId chunk);
  void take(ChunkId chunk);
  void enter(ChunkId chunk);
  void expect_anew();
  Thread& thread_of(std::uint32_t number);
  void choose_marks(Thread& thread);
  void learn(Thread& thread, ChunkId chunk, bool expected);
  void mark_all();
  void look_at_overdue();
  bool add_to_row(Thread& thread, ChunkId chunk) const;
  [[nodiscard]] std::optional<Choice> neighbour() const;

  // How long it will take (belady_policy_forecast.cpp).
  [[nodiscard]] static bool has_course(const Thread& thread);
  [[nodiscard]] bool can_begin_window() const;
  void count_progress(Seconds now);
  [[nodiscard]] std::vector<ExpectedTouch> expected_touches() const;

  std::map<std::uint32_t, Thread> threads_;
  std::vector<Known> known_;  // by chunk
  Order present_, away_;      // the soonest first
  Order ahead_;               // of those present: brought in before they were touched
  double now_ = 0;            // where the thread is that is farthest
  std::uint64_t touches_ = 0;
  std::size_t active_ = k_min_active;  // threads
  std::uint64_t counted_at_ = 0;       // the touch at which they were counted
  std::uint64_t expected_at_ = 0;      // the touch at which all was expected anew
  bool astray_ = false;                // a thread is elsewhere since then
  std::vector<ChunkId> marks_;
  struct Seen {
    ChunkId chunk = 0;
    std::uint64_t touched = 0;
  };
  std::deque<Seen> seen_;  // the latest touches, while somebody learns
  bool is_learning_ = false;
  double worked_ = 0;             // by all threads, in seconds
  std::uint64_t learned_by_ = 0;  // marks that were set to learn
  std::vector<ChunkId> passed_;
  std::vector<ChunkId> named_;  // victims since the last move
  struct Latest {               // touch
    ChunkId chunk = 0;
    std::uint32_t thread = 0;
    std::size_t advanced = 0;  // its thread, by so many touches that were expected
    bool elsewhere = false;
  };
  Latest latest_;
  Progress progress_;
  ForecastWindows windows_;
  Seconds next_forecast_;  // not before
};

}  // namespace terrace::strategy
