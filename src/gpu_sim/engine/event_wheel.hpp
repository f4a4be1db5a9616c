// What happens when: events by cycle. Those of the next 4,096 cycles are in a ring of lists, later ones in a heap.
// Events of one cycle happen in the order in which they were asked for.
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
  processor,    // subject: an SM, which may issue or look up
  access_done,  // subject: an SM; detail: its access
  translated,   // subject: an SM; detail: the page whose translation is there
  request,      // detail: a request that reaches its slice
  fetch,        // subject: a channel; detail: the MSHR of its slice whose lookup is over
  channel,      // subject: a channel, whose bus is free or whose row is open
  transferred,  // subject: a channel; detail: the transfer that is over
  answer,       // detail: a request that is back at its SM
  copy,         // detail: a line of a moving page that has crossed the link
  go_on,        // the SMs issue again, after a shootdown
  policy,       // an interval is over
  kernel,       // the next kernel begins
  moves,        // the next page may move
  faults,       // the driver has handled a batch of them
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
  [[nodiscard]] std::uint64_t happened() const { return happened_; }

  [[nodiscard]] bool none_waits() const { return waiting_ == 0; }

  // `at` is later than now, or now.
  void at(Cycle at, Event event) {
    if (at < now_ + k_size) {
      const auto slot = at % k_size;
      ring_[slot].push_back(event);
      filled_[slot / 64] |= std::uint64_t{1} << (slot % 64);
    } else {
      later_.push({at, order_++, event});
    }
    ++waiting_;
  }
  // The next one, in the order of time; false where there is none.
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

  // To the next cycle with events.
  void advance() {
    const auto near = next_filled();
    now_ = later_.empty() ? near : std::min(near, later_.top().at);
    // What has come near goes to the ring, before anything else is asked for in those cycles.
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
  std::size_t taken_ = 0;  // of this cycle's
  std::uint64_t waiting_ = 0;
  std::uint64_t order_ = 0;
  std::uint64_t happened_ = 0;
};

}  // namespace terrace::gpu_sim
