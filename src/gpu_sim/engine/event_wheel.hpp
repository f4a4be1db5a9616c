// SPDX-License-Identifier: Apache-2.0
// Implements the event queue of the simulation, by cycle: a ring of lists for the next 4,096 cycles, a heap for
// later events. Events of one cycle are processed in the order in which they were scheduled. All parts of the GPU
// schedule events in it; Simulator takes them out.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

namespace terrace::gpu_sim {

using Cycle = std::uint64_t;

enum class EventKind : std::uint8_t {
  processor,    // subject: an SM that may issue or look up
  access_done,  // subject: an SM; detail: its access
  translated,   // subject: an SM; detail: the page whose translation is available
  request,      // detail: a request that reaches its slice
  fetch,        // subject: a channel; detail: the MSHR of its slice whose lookup has ended
  channel,      // subject: a channel whose bus is free or whose row is open
  transferred,  // subject: a channel; detail: the transfer that has ended
  answer,       // detail: a request that is back at its SM
  copy,         // detail: a line of a moving page that has crossed the link
  resume,       // the SMs issue again after a shootdown
  policy,       // an interval of the placement policy has ended
  kernel,       // the next kernel begins
  moves,        // the next queued page may move
  faults,       // the driver has handled a batch of faults
};

struct Event {
  EventKind kind = EventKind::processor;
  std::uint32_t subject = 0;
  std::uint32_t detail = 0;
};

class EventWheel {
 public:
  EventWheel() : ring_(k_size) {}
  [[nodiscard]] Cycle now() const { return now_; }
  [[nodiscard]] std::uint64_t num_processed() const { return happened_; }

  [[nodiscard]] bool is_empty() const { return waiting_ == 0; }

  // Schedules an event. Requires: `at` >= now().
  void schedule(Cycle at, Event event) {
    if (at < now_ + k_size) {
      const auto slot = at % k_size;
      ring_[slot].push_back(event);
      filled_[slot / 64] |= std::uint64_t{1} << (slot % 64);
    } else {
      later_.push({at, order_++, event});
    }
    ++waiting_;
  }
  // Takes the next event in the order of time. Returns false if there is none.
  bool next(Event& event) {
    if (waiting_ == 0) return false;
    auto* list = &ring_[now_ % k_size];
    if (taken_ == list->size()) {
      list->clear();
      const auto slot = now_ % k_size;
      filled_[slot / 64] &= ~(std::uint64_t{1} << (slot % 64));
      taken_ = 0;
      advance();
      list = &ring_[now_ % k_size];
    }
    event = (*list)[taken_++];
    --waiting_;
    ++happened_;
    return true;
  }

 private:
  static constexpr std::size_t k_size = 4096;
  struct Later {
    Cycle at = 0;
    std::uint64_t order = 0;
    Event event;
    bool operator>(const Later& other) const { return at != other.at ? at > other.at : order > other.order; }
  };

  // Advances to the next cycle with events.
  void advance() {
    const auto near = next_filled();
    now_ = later_.empty() ? near : std::min(near, later_.top().at);
    // Move events that are near now to the ring, before further events are scheduled in those cycles.
    while (!later_.empty() && later_.top().at < now_ + k_size) {
      const auto slot = later_.top().at % k_size;
      ring_[slot].push_back(later_.top().event);
      filled_[slot / 64] |= std::uint64_t{1} << (slot % 64);
      later_.pop();
    }
  }
  [[nodiscard]] Cycle next_filled() const {
    constexpr auto words = k_size / 64;
    const auto start = (now_ + 1) % k_size;
    for (std::size_t i = 0; i <= words; ++i) {
      const auto word = (start / 64 + i) % words;
      auto bits = filled_[word];
      if (i == 0) bits &= ~std::uint64_t{0} << (start % 64);
      if (i == words) bits &= ~(~std::uint64_t{0} << (start % 64));
      if (bits == 0) continue;
      const auto slot = word * 64 + static_cast<std::size_t>(std::countr_zero(bits));
      return now_ + 1 + (slot + k_size - start) % k_size;
    }
    return ~Cycle{0};
  }

  std::vector<std::vector<Event>> ring_;
  std::array<std::uint64_t, k_size / 64> filled_{};
  std::priority_queue<Later, std::vector<Later>, std::greater<>> later_;
  Cycle now_ = 0;
  std::size_t taken_ = 0;  // of the current cycle's list
  std::uint64_t waiting_ = 0;
  std::uint64_t order_ = 0;
  std::uint64_t happened_ = 0;
};

}  // namespace terrace::gpu_sim
