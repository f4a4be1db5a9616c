// A GPU as a machine file describes it: processors, caches, address translation, and the channels of the memories
// that it reaches. Times are in cycles of its core clock unless a name says otherwise.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "core/identifiers.hpp"
#include "core/units.hpp"

namespace terrace::machine {

enum class WarpScheduler : std::uint8_t {
  greedy_then_oldest,  // the warp that issued last, as long as it can; else the one that has been there longest
  round_robin,
};

struct GpuCache {
  std::uint64_t bytes = 0;
  std::uint32_t ways = 0;
  std::uint32_t latency = 0;  // of a lookup
  std::uint32_t mshrs = 0;    // lines that may be on their way
  std::uint32_t merges = 0;   // accesses that may wait for one line
};

// One memory and the way to it.
struct GpuMemory {
  PlaceId place = 0;
  std::uint32_t channels = 0;
  std::uint32_t banks = 0;          // of a channel
  std::uint32_t row_bytes = 0;      // of a bank
  double bytes_per_second = 0;      // of all channels
  double command_hertz = 0;         // the clock of the following times
  std::uint32_t row_to_column = 0;  // RCD
  std::uint32_t precharge = 0;      // RP
  std::uint32_t row_cycle = 0;      // RC: between two activations of a bank
  std::uint32_t row_to_row = 0;     // RRD: between two activations of a channel
  std::uint32_t read_latency = 0;   // CL
  std::uint32_t write_latency = 0;  // WR: from a write to the precharge behind it
  std::uint32_t write_to_read = 0;  // the bus idles before a read that follows a write
  std::uint32_t read_to_write = 0;
  std::uint32_t refresh_interval = 0;  // REFI
  std::uint32_t refresh = 0;           // RFC: no bank can be used for so long; 0: it need not be
  std::uint32_t queue = 0;             // requests of a channel among which the next is chosen
  std::uint32_t link_latency = 0;      // each way, beyond the GPU's own network
  double link_bytes_per_second = 0;    // each way; 0: the link holds nothing back

  // What reads can get of it: the channels' bandwidth, or the link's where that is less.
  [[nodiscard]] double reached_bytes_per_second() const {
    return link_bytes_per_second > 0 ? std::min(bytes_per_second, link_bytes_per_second) : bytes_per_second;
  }
};

struct Gpu {
  InitiatorId initiator = 0;
  double hertz = 0;
  std::uint32_t processors = 0;  // SMs
  std::uint32_t schedulers = 0;  // of an SM: instructions a cycle, each of another warp
  WarpScheduler scheduler = WarpScheduler::greedy_then_oldest;
  std::uint32_t warps = 0;                // of an SM
  std::uint32_t ctas = 0;                 // of an SM
  std::uint32_t registers = 0;            // of an SM
  std::uint64_t shared_bytes = 0;         // of an SM
  std::uint32_t instruction_latency = 0;  // between two instructions of a warp
  std::uint32_t access_queue = 0;         // warp accesses that wait for the L1 cache
  std::uint32_t stores = 0;               // line parts of an SM that are on their way to memory
  bool sectored = false;                  // caches fetch sectors of 32 bytes, not lines of 128
  GpuCache l1;                            // of an SM
  GpuCache l2;                            // of a channel
  std::uint32_t network_latency = 0;      // from an SM to a slice, and back
  std::uint32_t network_bytes = 0;        // a cycle: into an SM, and out of a slice
  std::uint32_t launch_cycles = 0;        // between two kernels

  std::uint64_t page_bytes = 0;
  std::uint32_t l1_tlb_entries = 0;  // of an SM
  std::uint32_t l2_tlb_entries = 0;
  std::uint32_t l2_tlb_latency = 0;
  std::uint32_t walk_latency = 0;
  std::uint32_t walkers = 0;

  std::uint32_t shootdown = 0;    // all SMs stand still for so long
  bool shootdown_drains = false;  // and until no access to the page is under way
  std::uint32_t page_copies = 0;  // at once
  std::uint32_t notice = 0;       // until a move begins that accesses asked for: who moves has to hear of it
  std::uint32_t fault = 0;        // what the driver takes for a batch of faults, but for moves
  std::uint32_t fault_batch = 0;  // most faults of one

  std::vector<GpuMemory> memories;  // the local one first
};

}  // namespace terrace::machine
