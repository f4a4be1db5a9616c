// SPDX-License-Identifier: Apache-2.0
// Simulates fetches and evictions for the expected touches of threads, in simplified form, for the forecasts of
// BeladyPolicy. See forecast.hpp.
#include "strategy/spill/forecast.hpp"

#include <algorithm>
#include <compare>
#include <limits>
#include <utility>

namespace terrace::strategy {

namespace {

using transfer::PageState;

constexpr auto k_endless = std::numeric_limits<double>::infinity();

class Simulation {
 public:
  Simulation(std::span<const ExpectedTouch> touches, const SpillState& state,
             const std::function<PageState(ChunkId)>& residence);
  std::vector<double> run();

 private:
  struct Chunk {
    bool present = false;
    bool is_empty = false;  // without content (freed or zero): neither read nor written
    bool quiet = false;     // mapped: its touches go unnoticed
    bool ahead = false;     // prefetched and not touched yet
    bool late = false;      // is fetched on demand only
    double ready = 0;       // time at which its read ends
    std::size_t next = 0;   // its next touch
    std::size_t first = 0;  // its first touch
  };
  struct Thread {
    std::vector<std::size_t> touches;
    std::size_t done = 0;
    double time = 0;
  };
  struct Use {
    std::size_t touch = 0, chunk = 0;
    auto operator<=>(const Use&) const = default;
  };

  void find_next_uses();
  [[nodiscard]] Thread* next_thread();
  void touch(Thread& thread, std::size_t at);
  void fetch(Chunk& chunk, double now);
  [[nodiscard]] std::size_t last_use();
  [[nodiscard]] bool obtain_page(std::size_t used_at);
  void look_ahead(double now);

  std::span<const ExpectedTouch> touches_;
  const SpillState& state_;
  std::vector<std::size_t> chunk_of_;  // by touch
  std::vector<std::size_t> next_of_;   // by touch: the chunk's next one, also in the round after this one
  std::vector<bool> done_;             // by touch
  std::vector<Chunk> chunks_;
  std::vector<Thread> threads_;
  std::vector<Use> uses_;   // heap of the next uses of present chunks, the last use on top; older entries are void
  std::size_t others_ = 0;  // chunks present without an expected touch
  std::size_t used_ = 0;    // pages
  std::size_t ahead_ = 0;   // prefetched chunks that were not touched yet
  std::size_t looked_at_ = 0;  // touches before this one need no fetch
  double late_ = 0;            // fractional fetches on demand due by late_share
  std::size_t unnoticed_ = 0;  // touches since the last sentinel
  double disk_free_ = 0;       // time from which the disk is idle
  double page_free_ = 0;  // time at which the last obtained page is written back, less that of the reserved ones
  std::vector<double> result_;  // of thread 0
};

Simulation::Simulation(std::span<const ExpectedTouch> touches, const SpillState& state,
                       const std::function<PageState(ChunkId)>& residence)
    : touches_(touches), state_(state), done_(touches.size()), used_(state.present) {
  std::vector<ChunkId> ids;
  ids.reserve(touches.size());
  for (const auto& touch : touches) ids.push_back(touch.chunk);
  std::ranges::sort(ids);
  const auto rest = std::ranges::unique(ids);
  ids.erase(rest.begin(), rest.end());
  for (std::size_t at = 0; at < touches.size(); ++at) {
    chunk_of_.push_back(static_cast<std::size_t>(std::ranges::lower_bound(ids, touches[at].chunk) - ids.begin()));
    if (touches[at].thread >= threads_.size()) threads_.resize(touches[at].thread + 1);
    threads_[touches[at].thread].touches.push_back(at);
  }
  std::size_t present = 0;
  for (const auto id : ids) {
    const auto where = residence(id);
    const bool quiet = where == PageState::mapped || where == PageState::pinned;
    const bool is_present = quiet || where == PageState::unmapped_resident;
    chunks_.push_back({.present = is_present, .is_empty = where == PageState::empty, .quiet = quiet});
    present += is_present ? 1 : 0;
  }
  others_ = state.present > present ? state.present - present : 0;
  disk_free_ = static_cast<double>(state.under_way) * state.chunk_s;
  find_next_uses();
}

// Links each touch to the next one of its chunk; after the last touch the sequence begins again.
void Simulation::find_next_uses() {
  const auto count = touches_.size();
  for (std::size_t at = count; at-- > 0;) chunks_[chunk_of_[at]].first = at;
  for (auto& chunk : chunks_) chunk.next = count + chunk.first;
  next_of_.resize(count);
  for (std::size_t at = count; at-- > 0;) next_of_[at] = std::exchange(chunks_[chunk_of_[at]].next, at);
  for (std::size_t c = 0; c < chunks_.size(); ++c)
    if (chunks_[c].present) uses_.push_back({chunks_[c].next, c});
  std::ranges::make_heap(uses_);
}

// Returns the thread with the earliest next touch.
Simulation::Thread* Simulation::next_thread() {
  Thread* found = nullptr;
  auto soonest = k_endless;
  for (auto& thread : threads_) {
    if (thread.done == thread.touches.size()) continue;
    const auto time = thread.time + touches_[thread.touches[thread.done]].work;
    if (time >= soonest) continue;
    soonest = time;
    found = &thread;
  }
  return found;
}

// Returns the next touch of the chunk that is used last.
std::size_t Simulation::last_use() {
  const auto is_void = [&](const Use& use) {
    return !chunks_[use.chunk].present || chunks_[use.chunk].next != use.touch;
  };
  while (!uses_.empty() && is_void(uses_.front())) {
    std::ranges::pop_heap(uses_);
    uses_.pop_back();
  }
  return uses_.empty() ? 0 : uses_.front().touch;
}

// Frees a page for the chunk that is used at that touch. Returns false if all chunks in memory are used before it.
bool Simulation::obtain_page(std::size_t used_at) {
  page_free_ = 0;
  if (used_ < state_.room) {
    ++used_;
    return true;
  }
  if (others_ > 0) {
    --others_;
  } else {
    const auto use = last_use();
    if (use <= used_at) return false;
    auto& chunk = chunks_[uses_.front().chunk];
    chunk.present = chunk.quiet = false;
    ahead_ -= chunk.ahead ? 1 : 0;
    chunk.ahead = false;
    looked_at_ = std::min(looked_at_, use);
    if (chunk.is_empty) return true;
  }
  if (state_.write_share == 0) return true;
  disk_free_ += state_.write_share * state_.chunk_s;
  page_free_ = disk_free_ - static_cast<double>(state_.kept) * state_.chunk_s;
  return true;
}

// Reads the chunk, once the disk and a page are free; `now`: when the read is requested.
void Simulation::fetch(Chunk& chunk, double now) {
  chunk.present = true;
  chunk.ready = now;
  if (chunk.is_empty) {
    chunk.ready = std::max(now, page_free_);
    return;
  }
  disk_free_ = std::max(now, disk_free_) + state_.chunk_s;
  chunk.ready = disk_free_;
}

// Prefetches chunks of the next touches while k_depth and the free pages allow.
void Simulation::look_ahead(double now) {
  for (; looked_at_ < touches_.size(); ++looked_at_) {
    if (done_[looked_at_]) continue;
    const auto c = chunk_of_[looked_at_];
    auto& chunk = chunks_[c];
    if (chunk.present || chunk.is_empty || chunk.late) continue;
    if (late_ + state_.late_share >= 1 && ahead_ < k_depth) {
      late_ += state_.late_share - 1;
      chunk.late = true;
      continue;
    }
    if (ahead_ >= k_depth || !obtain_page(looked_at_)) return;
    fetch(chunk, now);
    late_ += state_.late_share;
    chunk.ahead = true;
    ++ahead_;
    uses_.push_back({chunk.next, c});
    std::ranges::push_heap(uses_);
  }
}

// Advances the thread by its next touch: waits for the chunk, then prefetches further ones.
void Simulation::touch(Thread& thread, std::size_t at) {
  const auto c = chunk_of_[at];
  auto& chunk = chunks_[c];
  auto now = thread.time + touches_[at].work;
  if (touches_[at].thread == 0) result_.push_back(now);
  done_[at] = true;
  for (chunk.next = next_of_[at]; chunk.next < touches_.size() && done_[chunk.next];)
    chunk.next = next_of_[chunk.next];
  if (!chunk.present) {
    if (!obtain_page(at)) ++used_;  // a waiting thread gets a page in any case
    fetch(chunk, now);
  }
  now = std::max(now, chunk.ready);
  if (!chunk.quiet || ++unnoticed_ == k_sentinel_spacing) {
    now += state_.touch_s;
    unnoticed_ = 0;
  }
  ahead_ -= chunk.ahead ? 1 : 0;
  chunk.ahead = chunk.late = false;
  chunk.quiet = true;
  uses_.push_back({chunk.next, c});
  std::ranges::push_heap(uses_);
  thread.time = now;
  look_ahead(now);
}

std::vector<double> Simulation::run() {
  while (threads_.front().done < threads_.front().touches.size()) {
    auto& thread = *next_thread();
    touch(thread, thread.touches[thread.done++]);
  }
  return std::move(result_);
}

}  // namespace

std::vector<double> forecast(std::span<const ExpectedTouch> touches, const SpillState& state,
                             const std::function<PageState(ChunkId)>& residence) {
  if (touches.empty()) return {};
  return Simulation(touches, state, residence).run();
}

}  // namespace terrace::strategy
