// SPDX-License-Identifier: Apache-2.0
// Models everything behind the SMs (streaming multiprocessors), which send requests to it: the network to the
// channels of each memory, the link to memories that are not the GPU's own, a slice of the L2 cache before each
// channel, and the channels. A slice caches the content of its channel only, so there is no coherence protocol; a
// page that moves flushes its lines from the slices. The simulator (simulator.hpp) owns one and passes it events.
//
// A page's frame is interleaved over the channels of its memory in units of 256 bytes.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "gpu_sim/engine/dram_channel.hpp"
#include "gpu_sim/engine/event_wheel.hpp"
#include "gpu_sim/engine/pool.hpp"
#include "gpu_sim/engine/sector_cache.hpp"
#include "gpu_sim/trace/warp_trace.hpp"
#include "machine/gpu.hpp"
#include "model/camat/camat.hpp"

namespace terrace::gpu_sim {

// A request of an SM to memory: a part of a line.
struct Request {
  std::uint32_t memory = 0;
  std::uint32_t channel = 0;  // over all memories
  std::uint64_t line = 0;     // of the channel
  std::uint32_t sectors = 0;
  std::uint32_t page = 0;
  std::uint32_t processor = 0;
  std::uint32_t waiter = 0;  // number of the SM's MSHR for loads, of its access for atomics
  StepKind kind = StepKind::load;
};

struct SliceCounts {
  std::uint64_t reads = 0;  // line parts of loads and atomics
  std::uint64_t writes = 0;
  std::uint64_t fetched_sectors = 0;  // from the channel
  std::uint64_t written_sectors = 0;  // written back to it

  SliceCounts& operator+=(const SliceCounts& other);
};

class MemorySide {
 public:
  MemorySide(const machine::Gpu& gpu, EventWheel& events);

  // Sets channel and line of `request` to the location of an address in a frame.
  void locate(std::uint32_t memory, std::uint64_t frame_address, Request& request) const;
  // Sends a request of an SM.
  void send(Request request);
  // Reads or writes a line of a page copy, bypassing the slices. handle() returns `number` at the end.
  void copy_line(std::uint32_t memory, std::uint64_t frame_address, bool write, std::uint32_t number);
  // Writes a line of samples from the GPU.
  void write_sample(std::uint32_t memory, std::uint64_t frame_address);
  // Returns when a copied line that leaves memory `from` now arrives at memory `to`.
  Cycle cross_links(std::uint32_t from, std::uint32_t to);
  // Removes the frame's lines from the slices, and writes back those that are dirty.
  void flush_frame(std::uint32_t memory, std::uint64_t frame_address, std::uint64_t bytes);
  // Writes back all dirty lines, at the end of the run.
  void write_back_all();

  // The end of a read or a write of a page copy.
  struct MovedLine {
    std::uint32_t number = 0;
    bool written = false;
  };
  // Handles an event of kind request, fetch, channel or transferred. Returns the line of a page copy that it
  // completes, if any.
  std::optional<MovedLine> handle(const Event& event);
  // Returns the request of an event of kind answer, and frees its number.
  Request take_answer(std::uint32_t number);

  [[nodiscard]] std::uint32_t channels() const { return static_cast<std::uint32_t>(slices_.size()); }
  [[nodiscard]] std::uint32_t memory_of(std::uint32_t channel) const { return slices_[channel].memory; }
  [[nodiscard]] const SliceCounts& slice(std::uint32_t channel) const { return slices_[channel].counts; }
  [[nodiscard]] const DramCounts& dram(std::uint32_t channel) const { return slices_[channel].dram.counts(); }
  // Return the counters of the cycles before `at`. Requires: `at` is not before the last processed event.
  [[nodiscard]] const model::CamatCounters& slice_camat(std::uint32_t channel, Cycle at) {
    return slices_[channel].camat.counters_at(at);
  }
  [[nodiscard]] const model::CamatCounters& dram_camat(std::uint32_t channel, Cycle at) {
    return slices_[channel].dram.camat().counters_at(at);
  }
  // Returns the bytes of a memory's channels so far that the GPU's accesses caused; policies balance bandwidth by
  // them.
  [[nodiscard]] std::uint64_t demand_bytes(std::uint32_t memory) const;
  [[nodiscard]] std::uint64_t move_bytes(std::uint32_t memory) const;
  // Returns the bytes of a page that were fetched for the GPU's accesses, or made dirty by them, to be written
  // back.
  [[nodiscard]] std::uint64_t page_bytes(std::uint32_t page) const {
    return page < page_bytes_.size() ? page_bytes_[page] : 0;
  }

 private:
  struct Waiter {
    std::uint32_t request = 0;
    model::CamatMeter::Miss miss = 0;
  };
  struct Slice {
    Slice(const machine::Gpu& gpu, const machine::GpuMemory& of, std::uint32_t number);
    std::uint32_t memory;
    SectorCache cache;
    MshrTable<Waiter> mshrs;
    DramChannel dram;
    std::deque<std::uint32_t> refused;  // requests that wait for an MSHR
    SliceCounts counts;
    model::CamatMeter camat;
    Cycle in_free = 0;
    double out_free = 0;
    Cycle runs_at = 0;  // time of the scheduled channel event; 0: none
  };
  struct Link {
    double out_free = 0;
    double in_free = 0;
  };

  // Looks up a request in the slice. Returns false if there is no MSHR for it.
  bool look_up_request(std::uint32_t channel, std::uint32_t number);
  void on_fill(std::uint32_t channel, std::uint32_t mshr);
  void write(std::uint32_t channel, const Request& request);
  void count_page_bytes(std::uint32_t page, std::uint32_t sectors);
  void send_answer(std::uint32_t number, Cycle ready);
  void enqueue_transfer(std::uint32_t channel, std::uint64_t line, std::uint32_t sectors, TransferOwner::Kind kind,
                        std::uint32_t number);
  void run_channel(std::uint32_t channel);
  void write_back(std::uint32_t channel, const SectorCache::Victim& victim);
  Cycle cross_link(std::uint32_t memory, double& free, Cycle at, std::uint32_t bytes) const;

  const machine::Gpu& gpu_;
  EventWheel& events_;
  std::vector<Slice> slices_;
  std::vector<std::uint32_t> first_channel_;  // by memory
  std::vector<Link> links_;                   // by memory
  std::vector<double> processor_in_free_;
  std::vector<std::uint64_t> page_bytes_;
  Pool<Request> requests_;
  Pool<DramChannel::Completion> completions_;
};

}  // namespace terrace::gpu_sim
