// SPDX-License-Identifier: Apache-2.0
// Reads the ring buffer in which the kernel writes the records of an event (perf_event_open(2), "MMAP layout"): a
// header page, then 2^n pages of records, and for some events a separate AUX buffer. An EventRing holds it.
#pragma once

#include <linux/perf_event.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace terrace::observe {

// A record of the ring; its body follows the header.
struct PerfRecord {
  std::uint32_t type = 0;
  std::uint16_t misc = 0;
  std::span<const std::byte> body;
};

// The times for which an event was enabled and for which it had a counter, in ns.
struct CounterTime {
  std::uint64_t enabled = 0, running = 0;
};

class PerfRing {
 public:
  static constexpr std::size_t k_max_record = 1U << 16U;  // bytes: the size field has 16 bits

  PerfRing() = default;
  // Non-owning.
  PerfRing(perf_event_mmap_page* page, std::span<std::byte> data, std::span<std::byte> aux = {}) noexcept
      : page_(page), data_(data), aux_(aux) {}

  // Calls each(record) for all records that the kernel has written, then releases their space. `record_buffer` is
  // scratch memory for a record that wraps around the ring's end.
  template <class Each>
  void read(std::span<std::byte, k_max_record> record_buffer, Each each) {
    if (!page_ || data_.empty()) return;
    // Pairs with the kernel's barrier between a record and the update of the head.
    const auto head = __atomic_load_n(&page_->data_head, __ATOMIC_ACQUIRE);
    auto tail = __atomic_load_n(&page_->data_tail, __ATOMIC_RELAXED);
    if (head - tail > data_.size()) {  // overrun: the beginning of the first record is lost
      ++malformed_;
      tail = head;
    }
    while (tail != head) {
      perf_event_header head_of{};
      const bool whole = head - tail >= sizeof head_of;
      if (whole) copy(tail, {reinterpret_cast<std::byte*>(&head_of), sizeof head_of});
      if (!whole || head_of.size < sizeof head_of || head_of.size % 8 != 0 || head_of.size > head - tail) {
        ++malformed_;  // the beginning of the next record is unknown
        tail = head;
        break;
      }
      each(PerfRecord{head_of.type, head_of.misc,
                      bytes(tail + sizeof head_of, head_of.size - sizeof head_of, record_buffer)});
      tail += head_of.size;
    }
    // Orders the reads before the kernel may overwrite the records.
    __atomic_store_n(&page_->data_tail, tail, __ATOMIC_RELEASE);
  }

  // Calls each(bytes, offset) for the bytes of the AUX buffer that an AUX record describes, in one or two pieces,
  // each with its offset in the buffer. They are valid until `release_aux`.
  template <class Each>
  void read_aux(std::uint64_t offset, std::uint64_t size, Each each) const {
    if (aux_.empty() || size > aux_.size()) return;
    const auto at = static_cast<std::size_t>(offset % aux_.size());
    const auto first = std::min(static_cast<std::size_t>(size), aux_.size() - at);
    each(aux_.subspan(at, first), at);
    if (first < size) each(aux_.first(static_cast<std::size_t>(size) - first), std::size_t{0});
  }
  void release_aux(std::uint64_t end) noexcept {
    if (page_) __atomic_store_n(&page_->aux_tail, end, __ATOMIC_RELEASE);
  }

  [[nodiscard]] CounterTime time() const noexcept {
    CounterTime time;
    if (!page_) return time;
    // The kernel increments the page's lock before and after it writes (seqlock). After some failed attempts the
    // values are nearly right, and the next call corrects them.
    for (int attempt = 0; attempt < 8; ++attempt) {
      const auto before = __atomic_load_n(&page_->lock, __ATOMIC_ACQUIRE);
      time = {__atomic_load_n(&page_->time_enabled, __ATOMIC_RELAXED),
              __atomic_load_n(&page_->time_running, __ATOMIC_RELAXED)};
      __atomic_thread_fence(__ATOMIC_ACQUIRE);
      if (before % 2 == 0 && __atomic_load_n(&page_->lock, __ATOMIC_RELAXED) == before) break;
    }
    return time;
  }
  // Returns the number of records with an invalid size; the rest of the ring is discarded after each.
  [[nodiscard]] std::uint64_t malformed() const noexcept { return malformed_; }

 private:
  void copy(std::uint64_t from, std::span<std::byte> to) const noexcept {
    const auto at = static_cast<std::size_t>(from % data_.size());
    const auto first = std::min(to.size(), data_.size() - at);
    std::memcpy(to.data(), data_.data() + at, first);
    std::memcpy(to.data() + first, data_.data(), to.size() - first);
  }
  // Returns bytes of the ring; copies them to the buffer where they wrap around its end.
  std::span<const std::byte> bytes(std::uint64_t from, std::size_t size,
                                   std::span<std::byte, k_max_record> record_buffer) const noexcept {
    const auto at = static_cast<std::size_t>(from % data_.size());
    if (size <= data_.size() - at) return data_.subspan(at, size);
    copy(from, record_buffer.first(size));
    return record_buffer.first(size);
  }

  perf_event_mmap_page* page_ = nullptr;
  std::span<std::byte> data_, aux_;
  std::uint64_t malformed_ = 0;
};

}  // namespace terrace::observe
