// SPDX-License-Identifier: Apache-2.0
// Describes a GPU of a machine file, for the GPU simulator: processors, caches, address translation, and the
// channels of the memories that it reaches. Times are in cycles of its core clock unless the name says otherwise.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "core/identifiers.hpp"
#include "core/units.hpp"

namespace terrace::machine {

enum class WarpScheduler : std::uint8_t {
  greedy_then_oldest,  // the last issuer while it can issue; else the oldest warp
  round_robin,
};

struct GpuCache {
  std::uint64_t bytes = 0;
  std::uint32_t ways = 0;
  std::uint32_t latency = 0;  // of a lookup
  std::uint32_t mshrs = 0;    // lines in flight
  std::uint32_t merges = 0;   // accesses that may be merged into one miss
};

// A memory, its DRAM timing, and the link to it.
struct GpuMemory {
  PlaceId place = 0;
  std::uint32_t channels = 0;
  std::uint32_t banks = 0;          // of a channel
  std::uint32_t row_bytes = 0;      // of a bank
  double bytes_per_second = 0;      // of all channels
  double command_hertz = 0;         // clock in which the following times count
  std::uint32_t row_to_column = 0;  // RCD
  std::uint32_t precharge = 0;      // RP
  std::uint32_t row_cycle = 0;      // RC: between two activations of a bank
  std::uint32_t row_to_row = 0;     // RRD: between two activations of a channel
  std::uint32_t read_latency = 0;   // CL
  std::uint32_t write_latency = 0;  // WR: from a write to the precharge behind it
  std::uint32_t write_to_read = 0;  // idle cycles of the bus before a read after a write
  std::uint32_t read_to_write = 0;
  std::uint32_t refresh_interval = 0;  // REFI
  std::uint32_t refresh = 0;           // RFC: all banks are unavailable; 0: no refresh
  std::uint32_t queue = 0;             // requests of a channel that the scheduler chooses from
  std::uint32_t link_latency = 0;      // each way, beyond the GPU's own network
  double link_bytes_per_second = 0;    // each way; 0: unlimited

  // Returns the read bandwidth: that of the channels, or of the link if it is less.
  [[nodiscard]] double reached_bytes_per_second() const {
    return link_bytes_per_second > 0 ? std::min(bytes_per_second, link_bytes_per_second) : bytes_per_second;
  }
};

struct Gpu {
  InitiatorId initiator = 0;
  double hertz = 0;
  std::uint32_t processors = 0;  // SMs
  std::uint32_t schedulers = 0;  // of an SM; each issues one instruction a cycle
  WarpScheduler scheduler = WarpScheduler::greedy_then_oldest;
  std::uint32_t warps = 0;                // of an SM
  std::uint32_t ctas = 0;                 // of an SM
  std::uint32_t registers = 0;            // of an SM
  std::uint64_t shared_bytes = 0;         // of an SM
  std::uint32_t instruction_latency = 0;  // between two instructions of a warp
  std::uint32_t access_queue = 0;         // warp accesses queued before the L1 cache
  std::uint32_t stores = 0;               // writes of an SM in flight to memory
  bool sectored = false;                  // caches fetch sectors of 32 bytes instead of lines of 128
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

  std::uint32_t shootdown = 0;    // time for which a TLB shootdown stalls all SMs
  bool shootdown_drains = false;  // and until no access to the page is in flight
  std::uint32_t page_copies = 0;  // concurrent page copies
  std::uint32_t notice = 0;       // delay from the access that triggers a migration to its start
  std::uint32_t fault = 0;        // driver time for a batch of faults, without migrations
  std::uint32_t fault_batch = 0;  // most faults in a batch

  std::vector<GpuMemory> memories;  // the local one first
};

}  // namespace terrace::machine
