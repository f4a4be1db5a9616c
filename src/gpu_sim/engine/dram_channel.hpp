// SPDX-License-Identifier: Apache-2.0
// Models a DRAM channel behind a slice of the L2 cache, for MemorySide: a data bus, and banks with one open row
// each. Scheduling is FR-FCFS (Rixner et al., "Memory access scheduling", ISCA 2000): of the queued requests the
// oldest that hits its open row goes first, else the oldest. Rows are activated concurrently with the transfers of
// other banks. Refresh, turnaround of the bus between reads and writes, and the spacing of activations take their
// time. Not modelled: the limit of four activations in a window (tFAW).
//
// Times are in core cycles with fractions, since bus and commands have clocks of their own.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <vector>

#include "gpu_sim/engine/event_wheel.hpp"
#include "machine/gpu.hpp"
#include "model/camat/camat.hpp"

namespace terrace::gpu_sim {

// Origin of a transfer.
struct TransferOwner {
  enum class Kind : std::uint8_t { fill, write_back, move_read, move_write, record };
  Kind kind = Kind::fill;
  std::uint32_t number = 0;  // of the slice's MSHR, or of the line of a moving page
};

struct DramCounts {
  std::uint64_t fill_bytes = 0;
  std::uint64_t write_back_bytes = 0;
  std::uint64_t move_read_bytes = 0;
  std::uint64_t move_write_bytes = 0;
  std::uint64_t record_bytes = 0;  // samples that the GPU writes
  std::uint64_t transfers = 0;     // minus activations: row hits
  std::uint64_t activations = 0;
  DramCounts& operator+=(const DramCounts& other);
  [[nodiscard]] std::uint64_t demand_bytes() const { return fill_bytes + write_back_bytes; }
  [[nodiscard]] std::uint64_t move_bytes() const { return move_read_bytes + move_write_bytes; }
};

class DramChannel {
 public:
  DramChannel(const machine::GpuMemory& memory, double core_hertz);

  // Queues a request. `line`: 128-byte line number within the channel. Completions are passed to complete(), in
  // the order of their time.
  void add(Cycle now, std::uint64_t line, std::uint32_t bytes, TransferOwner owner);
  // Starts what can be started. Returns the cycle of the next call; 0: when a request is added.
  Cycle run(Cycle now);
  struct Completion {
    Cycle at = 0;
    TransferOwner owner;
    model::CamatMeter::Miss access = 0;
  };
  // Returns the transfers started since the last call, with future completion times.
  std::vector<Completion>& started() { return started_; }
  // Reports the end of a transfer.
  void complete(Cycle now, const Completion& done) { camat_.end_miss(done.access, now); }

  [[nodiscard]] const DramCounts& counts() const { return counts_; }
  [[nodiscard]] model::CamatMeter& camat() { return camat_; }

 private:
  struct Bank {
    std::int64_t row = -1;
    double ready = 0;       // when the row is open
    double activated = 0;   // last activation; initially minus the row cycle
    double last_write = 0;  // from when on written data allows to close the row
    // Requests in the queue, and those for the open row; index 0: reads, 1: writes.
    std::array<std::uint32_t, 2> waiting{};
    std::array<std::uint32_t, 2> hits{};
    [[nodiscard]] bool hit() const { return hits[0] + hits[1] != 0; }
  };
  struct QueuedRequest {
    std::uint32_t bank = 0;
    std::int64_t row = 0;
    std::uint32_t bytes = 0;
    TransferOwner owner;
    model::CamatMeter::Miss access = 0;
    [[nodiscard]] bool writes() const {
      return owner.kind != TransferOwner::Kind::fill && owner.kind != TransferOwner::Kind::move_read;
    }
  };
  void enqueue(QueuedRequest waiting);
  void refresh(double now);
  [[nodiscard]] bool prefers_writes();
  void open_rows(double now);
  void open_row(std::uint32_t bank, bool writes, double now);
  bool transfer(double now);
  void count(const QueuedRequest& waiting);

  std::uint32_t banks_count_;
  std::uint32_t lines_per_row_;
  std::uint32_t window_;
  double cycles_per_byte_;
  double row_to_column_, precharge_, row_cycle_, row_to_row_, read_latency_, write_latency_, write_to_read_,
      read_to_write_;
  double refresh_interval_, refresh_;
  std::vector<Bank> banks_;
  std::vector<QueuedRequest> queue_;  // the oldest first, at most window_
  std::deque<QueuedRequest> overflow_;
  std::vector<Completion> started_;
  double bus_free_ = 0;
  double next_refresh_;
  double last_activation_ = -1e9;
  double waits_until_ = 0;           // instead of a bus turnaround
  bool wrote_ = false;               // direction of the last transfer
  bool is_draining_writes_ = false;  // writes go first
  std::uint32_t writes_ = 0;         // in the queue
  DramCounts counts_;
  model::CamatMeter camat_;
};

}  // namespace terrace::gpu_sim
