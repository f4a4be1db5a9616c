// SPDX-License-Identifier: Apache-2.0
// Implements out-of-core memory in virtual time: what transfer::Spill (transfer/spill/spill.hpp) does on a real
// machine. VirtualMachine passes it the program's accesses; it returns when the accessing thread continues.
//
// Chunks of 2 MiB are mapped at their place, resident but unmapped, or in the file. The same replacement policy
// decides and sees the same faults (none on a mapped chunk); the same limits apply
// (transfer/spill/spill_limits.hpp). A background thread handles the file's completions and the program's faults,
// in this order, whenever it is free, and then does pending work.
//
// Costs:
//
//   a fault                      the copier's trap, for the faulting thread, and the wait
//   a chunk is unmapped, mapped  half of the copier's price of an exchange, for the background thread; half of its
//                                stall, for a program that runs meanwhile
//   a chunk is compared          its bytes at one core's streaming rate (a hash is as fast: 0.05 s per GiB)
//   a used page is zeroed        the same
//   a read, a write              the device's time (virtual_disk.hpp); its bytes also pass through the memory
//   a block under kernel paging  for each of its pages a trap and a read of the page alone; it keeps its share of
//                                the memory, in first-in, first-out order
//
// Assumptions, because caches hide accesses: only cache misses count as accesses. A store becomes visible when its
// line is written back; if the chunk was evicted unwritten before that, it is written then. A first access to
// memory without content writes it. System calls are free but for the costs above, and pages are allocated without
// cost, as without a file.
//
// The times passed in ascend for each thread of the program. With several threads a call may come with an earlier
// time than the background thread's; it is served from the latter on. So threads that would wait together wait in
// sequence.
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "machine/machine.hpp"
#include "profile/records.hpp"
#include "sim/engine/file_pages.hpp"
#include "sim/engine/page_bound.hpp"
#include "sim/engine/virtual_disk.hpp"
#include "transfer/spill/block_use.hpp"
#include "transfer/spill/chunk_state.hpp"
#include "transfer/spill/replacement_policy.hpp"

namespace terrace::sim {

// Counters since the beginning.
using FileIoTotals = profile::FileIoTotals;

class VirtualSpill {
 public:
  struct Parts {
    machine::BackingFile file;
    machine::CopierPrice price;
    BytesPerSecond stream;  // one core's read or write rate of the memory
    Bytes memory{};         // limit for all data
    std::unique_ptr<transfer::ReplacementPolicy> policy;
  };
  explicit VirtualSpill(Parts parts);

  // Registers an object's block; frees it. release() returns when the freeing thread continues.
  void reserve(FilePages::Block block);
  Seconds release(FilePages::Block block, Seconds now);
  // Sets the size of data that always stays in memory.
  void keep(Bytes data);

  // Simulates the background thread up to `now`; needed only if is_due() says so.
  void run(Seconds now);
  [[nodiscard]] bool is_due(Seconds now) const { return now >= due_; }
  // Returns whether an access to the page faults at present.
  [[nodiscard]] bool is_noticed(FilePage page) const {
    const auto& one = chunks_[page / k_pages_of_a_chunk];
    return one.is_given ? !is_resident(page) : one.state != ChunkState::mapped;
  }
  // Reports an access that faults; returns when the thread continues.
  Seconds touch(FilePage page, std::uint32_t thread, Seconds now);
  void stored(FilePage page, Seconds now);
  // Counts an access for the lower bound, whether it faults or not.
  void count(FilePage page) { bound_.touch(page, capacity()); }

  // Sets the share of a core that the background thread has from now on.
  void set_pace(double pace) { pace_ = pace; }
  // Costs of the background thread for a running program, and the memory traffic it caused, since the last call.
  struct Beside {
    Seconds stalled;               // of each running thread
    Seconds worked;                // of the background thread, on a whole core
    double read = 0, written = 0;  // bytes of memory
  };
  Beside take_beside();
  // Ends a segment of the lower bound, and returns the counters.
  const FileIoTotals& account();

 private:
  static constexpr Bytes k_chunk{k_huge_page};
  static constexpr Seconds k_later_than_all{std::numeric_limits<double>::infinity()};
  // Tokens of requests: a chunk's number, or one of these.
  static constexpr std::uint64_t k_page_read = std::uint64_t{1} << 32;
  static constexpr std::uint64_t k_page_write = k_page_read + 1;
  static constexpr std::uint64_t k_late_write = k_page_read + 2;

  using ChunkState = transfer::ChunkState;
  struct Chunk {
    ChunkState state{};
    bool clean = false;            // resident but unmapped, identical to the file
    bool writing = false;          // a write is in flight
    bool fault_pending = false;    // a thread waits for it
    bool refault_pending = false;  // accessed again while it was written
    bool has_copy = false;         // the file has a copy, which lacks later stores
    bool stored = false;           // since the last comparison with the file
    bool prefetched = false;       // read before it was accessed
    bool is_given = false;         // under kernel paging
    bool left_written = false;     // at its last eviction
    std::uint32_t left_in = 0;     // segment of the bound in which it was last evicted
    std::uint32_t block = 0;       // first chunk of its block
  };
  struct Block {
    std::uint32_t count = 0;
    transfer::BlockUse use{};
    transfer::PageTrial trial{};
    transfer::PageTrial::Sample seen{};  // when `use` began
    bool handing_over = false;           // is being handed over to kernel paging
    bool kernel_paged = false;           // under kernel paging
    Seconds since{};                     // when it was handed over
    Seconds period{};                    // until chunks are tried again
  };
  struct Fault {
    std::uint32_t chunk = 0;
    std::uint32_t thread = 0;
    Seconds at;
  };

  // Events (virtual_spill.cpp).
  [[nodiscard]] transfer::PageState page_state(std::uint32_t chunk) const;
  void notify_policy(std::uint32_t chunk) { parts_.policy->on_state_change(chunk, page_state(chunk)); }
  void find_due();
  bool turn(Seconds until);
  void drain_completions();
  void take_fault();
  void update_prediction(Seconds at);
  void work(Seconds cost);
  void remap();
  void on_read_done(std::uint32_t chunk);
  void on_write_done(std::uint32_t chunk);
  void map_chunk(std::uint32_t chunk);
  void resume_waiters(std::uint32_t chunk);
  void adapt_limit();
  [[nodiscard]] std::uint64_t capacity() const;

  // Decisions (virtual_spill_flow.cpp).
  void step();
  void service_faults(bool forced);
  void prefetch();
  void arm_sentinels();
  void evict_ahead();
  void write_back_dirty();
  void write_back(std::uint32_t chunk);
  bool begin_eviction(std::uint32_t chunk);
  bool free_page();
  bool obtain_page(bool forced);
  void release_excess_pages();
  void start_read(std::uint32_t chunk);
  void cancel_eviction(std::uint32_t chunk);
  void set_prefetched(std::uint32_t chunk, bool value);
  void empty(std::uint32_t chunk);
  [[nodiscard]] std::size_t free() const { return used_ < limit_ ? limit_ - used_ : 0; }
  [[nodiscard]] std::size_t room() const;
  [[nodiscard]] std::size_t num_clean_evicting() const;

  // Blocks under kernel paging (virtual_spill_given.cpp).
  [[nodiscard]] transfer::BlockUse& heap_of(std::uint32_t first) {
    return heaps_[first / transfer::spill_limits::k_heap_region_chunks];
  }
  void note_load(std::uint32_t chunk, bool expected, bool sparse);
  void continue_handover();
  void cancel_handover(std::uint32_t first);
  void review_kernel_blocks();
  void reclaim_from_kernel(std::uint32_t first, Block& block);
  [[nodiscard]] transfer::PageTrial::Sample seen() const;
  void forget_page(FilePage page);
  [[nodiscard]] bool is_resident(FilePage page) const { return (pages_[page] & k_resident) != 0; }
  Seconds touch_given(FilePage page, Seconds now);
  void shrink_kernel_paged();

  Parts parts_;
  VirtualDisk disk_;
  PageBound bound_;
  FileIoTotals account_;
  Beside beside_;
  Seconds time_;                       // of the background thread
  Seconds busy_;                       // in which I/O was in flight
  Seconds looked_;                     // busy_ is accounted up to here
  bool is_busy_ = false;               // since then
  std::uint64_t num_unexpected_ = 0;   // faults on chunks in the file
  std::uint64_t num_soft_faults_ = 0;  // faults on resident chunks
  Seconds page_waits_;                 // for pages under kernel paging
  Seconds soft_fault_time_;            // time to serve those waits
  Seconds due_;                        // of the next event, or k_later_than_all
  double pace_ = 1;
  std::vector<Chunk> chunks_;
  std::map<std::uint32_t, Block> blocks_;              // by first chunk
  std::map<std::uint32_t, transfer::BlockUse> heaps_;  // by part of the address space
  struct Worker {                                      // a thread of the program
    std::optional<Seconds> resumed;                    // end of its last wait
    transfer::VisitWork work;
  };
  std::map<std::uint32_t, Worker> workers_;                 // by number
  std::optional<Fault> fault_;                              // not yet handled
  std::optional<Fault> waiting_;                            // the same, until its thread continues
  Seconds woken_;                                           // when it continues
  std::deque<std::uint32_t> fault_queue_, eviction_queue_;  // as Spill's
  struct Start {
    bool write = false;
    std::uint32_t chunk = 0;
  };
  std::vector<Start> starts_;  // requests of this pass of the background thread
  std::size_t reads_ = 0, writes_ = 0, num_prefetched_ = 0;
  std::uint64_t num_with_content_ = 0;
  std::size_t used_ = 0;  // pages of 2 MiB in use by chunks
  std::size_t made_ = 0;  // pages allocated so far
  bool is_new_ = false;   // the page obtained last is new, hence zero
  std::size_t limit_ = 0;
  Bytes kept_{};
  std::optional<std::uint32_t> handover_block_;  // block that is being handed over to kernel paging
  Seconds handover_since_;
  std::uint64_t kernel_paged_ = 0;  // chunks under kernel paging
  static constexpr std::uint8_t k_resident = 1, k_stored = 2, k_content = 4;
  std::vector<std::uint8_t> pages_;  // flags of pages under kernel paging; empty before the first hand-over
  std::deque<FilePage> paged_;       // resident pages, the oldest first
  std::optional<Seconds> page_read_;
};

}  // namespace terrace::sim
