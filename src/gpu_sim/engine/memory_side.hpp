// Everything behind the SMs: the network to the channels of each memory, the link to those that are not the GPU's
// own, a slice of the L2 cache before each channel, and the channels. Slices cache what is in their channel, so
// nothing has to be kept coherent; a page that moves takes its lines out of them.
//
// A page's frame is cut into pieces of 256 bytes, which go over the channels of its memory in turns.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "gpu_sim/engine/dram_channel.hpp"
#include "gpu_sim/engine/event_wheel.hpp"
#include "gpu_sim/engine/mshr_table.hpp"
#include "gpu_sim/engine/pool.hpp"
#include "gpu_sim/engine/sector_cache.hpp"
#include "gpu_sim/trace/warp_trace.hpp"
#include "machine/gpu.hpp"
#include "model/camat/camat.hpp"

namespace terrace::gpu_sim {

// What an SM asks of memory: part of a line.
struct Request {
  std::uint32_t memory = 0;
  std::uint32_t channel = 0;  // over all memories
  std::uint64_t line = 0;     // of the channel
  std::uint32_t sectors = 0;
  std::uint32_t page = 0;
  std::uint32_t processor = 0;
  std::uint32_t waiter = 0;  // the SM's: of its MSHRs for loads, of its accesses for atomics
  StepKind kind = StepKind::load;
};

struct SliceCounts {
  std::uint64_t reads = 0;  // line parts that came as loads and atomics
  std::uint64_t writes = 0;
  std::uint64_t fetched_sectors = 0;  // from the channel
  std::uint64_t written_sectors = 0;  // back to it

  SliceCounts& operator+=(const SliceCounts& other);
};

class MemorySide {
 public:
  MemorySide(const machine::Gpu& gpu, EventWheel& events);

  // Where the line of a frame is: fills in channel and line.
  void locate(std::uint32_t memory, std::uint64_t frame_address, Request& request) const;
  // From an SM, on its way from now on.
  void send(Request request);
  // A copy's line, read or written past the slices; `number` comes back from `on`.
  void move(std::uint32_t memory, std::uint64_t frame_address, bool write, std::uint32_t number);
  // A line of samples goes there from the GPU.
  void record(std::uint32_t memory, std::uint64_t frame_address);
  // When a copied line that leaves a memory now is at the other one.
  Cycle crosses(std::uint32_t from, std::uint32_t to);
  // The frame's lines leave the slices; what is dirty is written.
  void drop(std::uint32_t memory, std::uint64_t frame_address, std::uint64_t bytes);
  // All that is dirty is written: the end of the run.
  void write_back_all();

  // A line of a copy, for who copies.
  struct MovedLine {
    std::uint32_t number = 0;
    bool written = false;
  };
  // An event of kind request, fetch, channel or transferred. What it is the end of for a copy, if it is.
  std::optional<MovedLine> on(const Event& event);
  // An event of kind answer: the request, which is done with.
  Request take_answer(std::uint32_t number);

  [[nodiscard]] std::uint32_t channels() const { return static_cast<std::uint32_t>(slices_.size()); }
  [[nodiscard]] std::uint32_t memory_of(std::uint32_t channel) const { return slices_[channel].memory; }
  [[nodiscard]] const SliceCounts& slice(std::uint32_t channel) const { return slices_[channel].counts; }
  [[nodiscard]] const DramCounts& dram(std::uint32_t channel) const { return slices_[channel].dram.counts(); }
  // In the cycles before `at`, which is not before anything that has happened.
  [[nodiscard]] const model::CamatCounters& slice_camat(std::uint32_t channel, Cycle at) {
    return slices_[channel].camat.counters_at(at);
  }
  [[nodiscard]] const model::CamatCounters& dram_camat(std::uint32_t channel, Cycle at) {
    return slices_[channel].dram.camat().counters_at(at);
  }
  // Bytes of each memory's channels so far, by the GPU's accesses: what a balance of bandwidth looks at.
  [[nodiscard]] std::uint64_t demand_bytes(std::uint32_t memory) const;
  [[nodiscard]] std::uint64_t move_bytes(std::uint32_t memory) const;
  // Of a page: what was fetched for the GPU's accesses, and what they made dirty, which is written back.
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
    std::deque<std::uint32_t> refused;  // requests, for want of an MSHR
    SliceCounts counts;
    model::CamatMeter camat;
    Cycle in_free = 0;
    double out_free = 0;
    Cycle runs_at = 0;  // when the channel is to be run next; 0: nothing is asked for
  };
  struct Link {
    double out_free = 0;
    double in_free = 0;
  };

  // Whether it was taken in.
  bool serve(std::uint32_t channel, std::uint32_t number);
  void filled(std::uint32_t channel, std::uint32_t mshr);
  void write(std::uint32_t channel, const Request& request);
  void count(std::uint32_t page, std::uint32_t sectors);
  void answer(std::uint32_t number, Cycle ready);
  void to_dram(std::uint32_t channel, std::uint64_t line, std::uint32_t sectors, TransferOwner::Kind kind,
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
