// One event of one thread (or of one processor), opened, with its ring.
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
  // Counts from now on. `tid` -1 is everybody on a processor, `processor` -1 every processor that a thread runs
  // on. Nothing where the kernel refuses; `error` then says why (errno), and `call` which call it was. No file
  // stays open: the mapping keeps the event alive, and a program that closes all files, or takes the number of a
  // file that it has closed for its own, finds none of ours. A child of fork has neither file nor mapping.
  static std::optional<EventRing> open(const PerfEvent& event, std::uint64_t period, int tid, int processor,
                                       int& error, const char*& call) noexcept;
  // Of a ring that somebody else owns: a recorded one, or a test's.
  EventRing(const PerfRing& ring, int tid, int processor, std::uint64_t period) noexcept
      : tid_(tid), processor_(processor), period_(period), ring_(ring) {}
  ~EventRing();
  EventRing(EventRing&& other) noexcept;
  EventRing& operator=(EventRing&& other) noexcept;

  PerfRing& ring() noexcept { return ring_; }
  // In a child of fork: the mappings are not there, and what is there now is somebody else's.
  void forget() noexcept { mapped_ = 0; }
  [[nodiscard]] int tid() const noexcept { return tid_; }
  [[nodiscard]] int processor() const noexcept { return processor_; }
  // Of the time since this was last asked, the share in which the event had a counter; 1 where it is not known.
  double share_of_time() noexcept;
  [[nodiscard]] CounterTime time() const noexcept { return ring_.time(); }
  [[nodiscard]] std::uint64_t period() const noexcept { return period_; }
  [[nodiscard]] bool kernel_too() const noexcept { return kernel_too_; }
  SpeReader packets;  // of Arm's event

 private:
  EventRing(int tid, int processor, std::uint64_t period) noexcept
      : tid_(tid), processor_(processor), period_(period) {}
  void close() noexcept;

  int tid_, processor_;
  std::uint64_t period_;
  bool kernel_too_ = false;  // the kernel cannot leave itself out of this event: its samples are to be dropped
  PerfRing ring_;
  CounterTime last_;
  std::array<std::span<std::byte>, 3> mappings_;  // of a leader, of the ring, of the buffer beside it
  std::size_t mapped_ = 0;
};

}  // namespace terrace::observe
