// The ring in which the kernel leaves the records of an event (perf_event_open(2), "MMAP layout"): a page of
// figures, then 2^n pages of records, and for some events a second buffer beside it.
#pragma once

#include <linux/perf_event.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace terrace::observe {

// A record as it stands in the ring; its body is what follows the head.
struct PerfRecord {
  std::uint32_t type = 0;
  std::uint16_t misc = 0;
  std::span<const std::byte> body;
};

// How long an event was wanted and how long it had a counter, ns.
struct CounterTime {
  std::uint64_t enabled = 0, running = 0;
};

class PerfRing {
 public:
  static constexpr std::size_t k_longest = 1U << 16U;  // of a record: its size has 16 bits

  PerfRing() = default;
  // The ring does not own its memory.
  PerfRing(perf_event_mmap_page* page, std::span<std::byte> data, std::span<std::byte> beside = {}) noexcept
      : page_(page), data_(data), beside_(beside) {}

  // Calls each(record) for all that the kernel has written, then gives the room back. `longest` is room for a
  // record that goes around the ring's end.
  template <class Each>
  void read(std::span<std::byte, k_longest> longest, Each each) {
    if (!page_ || data_.empty()) return;
    // Pairs with the kernel's barrier between a record and the head that tells of it.
    const auto head = __atomic_load_n(&page_->data_head, __ATOMIC_ACQUIRE);
    auto tail = __atomic_load_n(&page_->data_tail, __ATOMIC_RELAXED);
    if (head - tail > data_.size()) {  // nobody can write so much: what there is cannot be told apart
      ++malformed_;
      tail = head;
    }
    while (tail != head) {
      perf_event_header head_of{};
      const bool whole = head - tail >= sizeof head_of;
      if (whole) copy(tail, {reinterpret_cast<std::byte*>(&head_of), sizeof head_of});
      if (!whole || head_of.size < sizeof head_of || head_of.size % 8 != 0 || head_of.size > head - tail) {
        ++malformed_;  // where the next one begins is not known
        tail = head;
        break;
      }
      each(PerfRecord{head_of.type, head_of.misc,
                      bytes(tail + sizeof head_of, head_of.size - sizeof head_of, longest)});
      tail += head_of.size;
    }
    // What was read is read before the kernel writes over it.
    __atomic_store_n(&page_->data_tail, tail, __ATOMIC_RELEASE);
  }

  // Bytes of the buffer beside the ring, as a record of it tells: in one or two pieces, each with its offset in
  // the buffer. They are there until `give_back_beside`.
  template <class Each>
  void beside(std::uint64_t offset, std::uint64_t size, Each each) const {
    if (beside_.empty() || size > beside_.size()) return;
    const auto at = static_cast<std::size_t>(offset % beside_.size());
    const auto first = std::min(static_cast<std::size_t>(size), beside_.size() - at);
    each(beside_.subspan(at, first), at);
    if (first < size) each(beside_.first(static_cast<std::size_t>(size) - first), std::size_t{0});
  }
  void give_back_beside(std::uint64_t end) noexcept {
    if (page_) __atomic_store_n(&page_->aux_tail, end, __ATOMIC_RELEASE);
  }

  [[nodiscard]] CounterTime time() const noexcept {
    CounterTime time;
    if (!page_) return time;
    // The kernel counts the page's lock up before and after it writes. It may be at it when this thread gets the
    // processor: what is read then is nearly right, and the next time sees to the rest.
    for (int attempt = 0; attempt < 8; ++attempt) {
      const auto before = __atomic_load_n(&page_->lock, __ATOMIC_ACQUIRE);
      time = {__atomic_load_n(&page_->time_enabled, __ATOMIC_RELAXED),
              __atomic_load_n(&page_->time_running, __ATOMIC_RELAXED)};
      __atomic_thread_fence(__ATOMIC_ACQUIRE);
      if (before % 2 == 0 && __atomic_load_n(&page_->lock, __ATOMIC_RELAXED) == before) break;
    }
    return time;
  }
  // Records without a sound size: after one, all that was in the ring is given up.
  [[nodiscard]] std::uint64_t malformed() const noexcept { return malformed_; }

 private:
  void copy(std::uint64_t from, std::span<std::byte> to) const noexcept {
    const auto at = static_cast<std::size_t>(from % data_.size());
    const auto first = std::min(to.size(), data_.size() - at);
    std::memcpy(to.data(), data_.data() + at, first);
    std::memcpy(to.data() + first, data_.data(), to.size() - first);
  }
  std::span<const std::byte> bytes(std::uint64_t from, std::size_t size,
                                   std::span<std::byte, k_longest> longest) const noexcept {
    const auto at = static_cast<std::size_t>(from % data_.size());
    if (size <= data_.size() - at) return data_.subspan(at, size);
    copy(from, longest.first(size));
    return longest.first(size);
  }

  perf_event_mmap_page* page_ = nullptr;
  std::span<std::byte> data_, beside_;
  std::uint64_t malformed_ = 0;
};

}  // namespace terrace::observe
