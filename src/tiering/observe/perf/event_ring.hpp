// SPDX-License-Identifier: Apache-2.0
// Owns an open perf event of one thread or of one processor, with its ring. The memory sampler and the function
// probes hold one for each event and thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "observe/perf/perf_event.hpp"
#include "observe/perf/perf_ring.hpp"
#include "observe/perf/spe_packets.hpp"

namespace terrace::observe {

class EventRing {
 public:
  // Opens and enables the event. `tid` -1: all threads on a processor; `processor` -1: all processors of a thread.
  // Returns nothing where the kernel refuses, with errno in `error` and the name of the call in `call`. No
  // descriptor stays open: the mapping keeps the event alive, so the program cannot close or reuse the descriptor.
  // A child of fork has no mapping.
  static std::optional<EventRing> open(const PerfEvent& event, std::uint64_t period, int tid, int processor,
                                       int& error, const char*& call) noexcept;
  // Wraps a ring that the caller owns: a recorded one, or a test's.
  EventRing(const PerfRing& ring, int tid, int processor, std::uint64_t period) noexcept
      : tid_(tid), processor_(processor), period_(period), ring_(ring) {}
  ~EventRing();
  EventRing(EventRing&& other) noexcept;
  EventRing& operator=(EventRing&& other) noexcept;

  PerfRing& ring() noexcept { return ring_; }
  // Releases the mappings without unmapping them. Called in a child of fork, which does not have them.
  void abandon() noexcept { mapped_ = 0; }
  [[nodiscard]] int tid() const noexcept { return tid_; }
  [[nodiscard]] int processor() const noexcept { return processor_; }
  // Returns the share of the time since the last call in which the event had a counter; 1 where it is unknown.
  double counting_share() noexcept;
  [[nodiscard]] CounterTime time() const noexcept { return ring_.time(); }
  [[nodiscard]] std::uint64_t period() const noexcept { return period_; }
  [[nodiscard]] bool includes_kernel() const noexcept { return includes_kernel_; }
  SpeDecoder packets;  // decoder of Arm's event

 private:
  EventRing(int tid, int processor, std::uint64_t period) noexcept
      : tid_(tid), processor_(processor), period_(period) {}
  void close() noexcept;

  int tid_, processor_;
  std::uint64_t period_;
  bool includes_kernel_ = false;  // the event cannot exclude the kernel: drop the kernel's samples
  PerfRing ring_;
  CounterTime last_;
  std::array<std::span<std::byte>, 3> mappings_;  // of a group leader, the ring, the AUX buffer
  std::size_t mapped_ = 0;
};

}  // namespace terrace::observe
