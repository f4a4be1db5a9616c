// SPDX-License-Identifier: Apache-2.0
// Implements Belady-style prefetch and eviction for out-of-core data (Belady 1966; the future is predicted from
// each thread's history): the chunk used soonest is prefetched, the chunk used last is evicted. The pager
// (transfer/spill/spill.hpp) and its model in virtual time (sim/engine/virtual_spill.hpp) call it. For threads
// that do not repeat themselves, runs of neighbouring chunks are expected to continue, and each chunk is expected
// after its reuse distance: the touches between its last two. So a fixed part of a repeated sweep stays in memory,
// in whatever order it is swept. Chunks touched once are evicted first, in LRU order.
//
// Not thread-safe. Members do not throw: without memory the policy forgets its histories.
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
  // Returns whether all active threads have repeated their history since they last deviated from it.
  [[nodiscard]] bool is_known() const noexcept;
  // The total time that threads took from touch to touch, and the work that they did in it. The work of the same
  // touches is the same, wherever data resides.
  struct Progress {
    Seconds taken, done;
  };
  [[nodiscard]] Progress progress() const noexcept { return progress_; }

 private:
  static constexpr double k_learned = 0.9;  // min share of expected touches of a learned history
  static constexpr std::uint64_t k_active =
      1024;  // max touches of all threads since the last one of an active thread
  static constexpr std::size_t k_min_active = 2;  // a single thread counts as so many
  struct ChunkState {
    double when = 0;             // its next use, in seconds of work; k_unknown and above: not from a history
    std::uint64_t touched = 0;   // global number of its last touch
    std::uint64_t in_use = 0;    // until that touch it is likely to be used again
    std::uint64_t interval = 0;  // reuse distance, in touches of all threads; 0: touched once
    transfer::PageState residence = transfer::PageState::empty;
    bool ahead = false;  // prefetched and not touched yet
  };
  struct Thread {
    TouchHistory history;
    struct Row {  // neighbours touched in sequence, with other touches between them
      ChunkId latest = 0;
      std::uint32_t length = 0;
      std::uint64_t touched = 0;
    };
    std::array<Row, 8> rows{};
    bool trusted = false;
    bool learned = false;               // its history has every touch of a period
    std::size_t streak = 0;             // consecutive expected touches
    double offset = 0;                  // from its history's times to now_
    double worked = 0;                  // in total, in seconds
    std::optional<Progress> counted;    // at its latest touch
    struct ExpectedRun {                // since it was elsewhere
      std::size_t touches = 0;          // done as expected
      double worked = 0, expected = 0;  // seconds, and those that it took the last time
    };
    ExpectedRun expected_run;
    std::uint64_t touched = 0;       // global number of its last touch
    std::size_t looked_ahead = 0;    // next touches among which sentinels were chosen
    std::uint32_t num_unmarked = 0;  // mapped chunks after the last sentinel
  };
  using Order = std::set<std::pair<double, ChunkId>>;

  [[nodiscard]] double when(ChunkId chunk) const;
  void count_active();
  [[nodiscard]] Order* order_of(transfer::PageState residence);
  [[nodiscard]] bool is_unnoticed(ChunkId chunk) const;
  void reinsert(ChunkId chunk);
  void remove(ChunkId chunk);
  void insert_predicted(ChunkId chunk);
  void repredict_all();
  Thread& thread_of(std::uint32_t number);
  void choose_sentinels(Thread& thread);
  void learn(Thread& thread, ChunkId chunk, bool expected);
  void add_all_sentinels();
  void check_overdue();
  bool extend_row(Thread& thread, ChunkId chunk) const;
  [[nodiscard]] std::optional<Choice> next_neighbour() const;

  // Forecasts (belady_policy_forecast.cpp).
  [[nodiscard]] static bool has_expected_run(const Thread& thread);
  [[nodiscard]] bool can_begin_window() const;
  void add_progress(Seconds now);
  [[nodiscard]] std::vector<ExpectedTouch> expected_touches() const;

  std::map<std::uint32_t, Thread> threads_;
  std::vector<ChunkState> states_;  // by chunk
  Order present_, away_;            // chunks in memory and on disk, soonest use first
  Order ahead_;                     // chunks of present_ that were prefetched and not touched yet
  double now_ = 0;                  // position of the thread that is farthest ahead
  std::uint64_t touches_ = 0;
  std::size_t active_ = k_min_active;  // number of active threads
  std::uint64_t counted_at_ = 0;       // the touch at which they were counted
  std::uint64_t expected_at_ = 0;      // the touch of the last repredict_all()
  bool has_deviation_ = false;         // a thread has deviated since then
  std::vector<ChunkId> sentinels_;
  struct NoticedTouch {
    ChunkId chunk = 0;
    std::uint64_t touched = 0;
  };
  std::deque<NoticedTouch> noticed_;  // the latest touches, while a history is being learned
  bool is_learning_ = false;
  double worked_ = 0;             // by all threads, in seconds
  std::uint64_t learned_by_ = 0;  // sentinels set to learn
  std::vector<ChunkId> passed_;
  std::vector<ChunkId> returned_victims_;  // victims since the last move
  struct LatestTouch {                     // touch
    ChunkId chunk = 0;
    std::uint32_t thread = 0;
    std::size_t advanced = 0;  // its thread, by so many touches that were expected
    bool elsewhere = false;
  };
  LatestTouch latest_;
  Progress progress_;
  ForecastWindows windows_;
  Seconds next_forecast_;  // earliest time
};

}  // namespace terrace::strategy
