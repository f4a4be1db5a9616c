// Memory over a file in virtual time: what transfer::Spill (transfer/spill/spill.hpp) does on the real machine,
// told what the program touches and answering when it goes on. Chunks of 2 MiB are in their place, in memory
// beside it, or in the file; the same Foresight decides, told of the same touches (none of a chunk that is in its
// place); the same limits hold (transfer/spill/spill_limits.hpp). A thread that works beside the program takes the
// file's answers and the program's faults, in this order, whenever it is free, and then does what there is to do.
//
// What things take:
//
//   a touch that is noticed      the copier's trap, of who touches, and the wait
//   a chunk leaves or comes      half of what the copier's price says of an exchange, of the thread; half of its
//   stall
//     to its place               of a program that runs meanwhile
//   a chunk is looked at         its bytes at what one core streams (a hash is as fast: 0.05 s a GiB were
//   measured) a used page is made zero     the same a read, a write              the device's time
//   (virtual_disk.hpp); its bytes pass through the memory, too a block that the kernel      for each of its pages
//   a trap, and a read of the page by itself; it keeps its share of
//     pages                      the memory, and what came first leaves first
//
// What is assumed, because caches hide it: only what they miss is a touch. A store shows when its line is written
// back: where the chunk has left before that, and was not written when it did, it is written then. Who touches
// memory that has no content writes it. The calls into the kernel are free but for the prices above, and pages are
// made without cost, as they are without a file.
//
// Times given ascend for one thread of the program. Of several, one may come with a time that lies behind: it is
// served from where the thread beside them is. So threads wait one after the other, where they would wait
// together.
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

// Since the beginning.
using FileIoTotals = profile::FileIoTotals;

class VirtualSpill {
 public:
  struct Parts {
    machine::BackingFile file;
    machine::CopierPrice price;
    BytesPerSecond stream;  // what one core reads, or writes, of the memory
    Bytes memory{};         // of all data
    std::unique_ptr<transfer::ReplacementPolicy> policy;
  };
  explicit VirtualSpill(Parts parts);

  // An object of so many chunks; and that it is gone: who frees it goes on at that time.
  void reserve(FilePages::Block block);
  Seconds release(FilePages::Block block, Seconds now);
  // Data that always stays in memory.
  void keep(Bytes data);

  // Up to `now`; needed only where is_due() says so.
  void run(Seconds now);
  [[nodiscard]] bool is_due(Seconds now) const { return now >= due_; }
  // Whether who touches the page has to wait, as things are.
  [[nodiscard]] bool is_noticed(FilePage page) const {
    const auto& one = chunks_[page / k_pages_of_a_chunk];
    return one.is_given ? !is_resident(page) : one.state != ChunkState::mapped;
  }
  // A thread touches it, and goes on at that time.
  Seconds touch(FilePage page, std::uint32_t thread, Seconds now);
  void stored(FilePage page, Seconds now);
  // For the bound: every touch, noticed or not.
  void count(FilePage page) { bound_.touch(page, capacity()); }

  // The share of a core that the thread beside the program has from now on.
  void set_pace(double pace) { pace_ = pace; }
  // What a running program lost to it, and what passed through the memory, since that was asked last.
  struct Beside {
    Seconds stalled;               // of each running thread
    Seconds worked;                // of the thread beside them, on a whole core
    double read = 0, written = 0;  // bytes of memory
  };
  Beside take_beside();
  // Ends a stretch of the bound.
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
    bool clean = false;     // in memory beside its place, as the file has it
    bool writing = false;   // under way
    bool fault_pending = false;    // somebody waits for it
    bool refault_pending = false;   // needed again, while it was written
    bool has_copy = false;  // the file has it, but for what is stored since
    bool stored = false;    // since it was looked at
    bool prefetched = false;  // read before it was touched
    bool is_given = false;
    bool left_written = false;  // when it left last
    std::uint32_t left_in = 0;  // stretch of the bound
    std::uint32_t block = 0;    // the first chunk of its own
  };
  struct Block {
    std::uint32_t count = 0;
    transfer::BlockUse use{};
    transfer::PageTrial trial{};
    transfer::PageTrial::Sample seen{};  // when `use` began
    bool handing_over = false;              // is being given to the kernel
    bool kernel_paged = false;
    Seconds since{};   // it was
    Seconds period{};  // until it is tried again
  };
  struct Fault {
    std::uint32_t chunk = 0;
    std::uint32_t thread = 0;
    Seconds at;
  };

  // What happens (virtual_spill.cpp).
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

  // What shall happen (virtual_spill_flow.cpp).
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

  // Blocks that the kernel pages (virtual_spill_given.cpp).
  [[nodiscard]] transfer::BlockUse& heap_of(std::uint32_t first) {
    return heaps_[first / transfer::spill_limits::k_heap];
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
  Seconds time_;                  // of the thread beside the program
  Seconds busy_;                  // in which something was read or written
  Seconds looked_;                // busy_ holds until then
  bool is_busy_ = false;          // since then
  std::uint64_t num_unexpected_ = 0;  // touches of what was on disk
  std::uint64_t num_soft_faults_ = 0;      // touches of what was in memory
  Seconds page_waits_;            // for pages of blocks that the kernel pages
  Seconds soft_fault_time_;               // for which those waited
  Seconds due_;                   // when something happens next, or later than all
  double pace_ = 1;
  std::vector<Chunk> chunks_;
  std::map<std::uint32_t, Block> blocks_;              // by first chunk
  std::map<std::uint32_t, transfer::BlockUse> heaps_;  // by part of the address space
  struct Worker {                                      // a thread of the program
    std::optional<Seconds> resumed;                    // when it had last waited
    transfer::VisitWork work;
  };
  std::map<std::uint32_t, Worker> workers_;    // by number
  std::optional<Fault> fault_;                 // not taken yet
  std::optional<Fault> waiting_;               // the same, until who waits goes on
  Seconds woken_;                              // when that is
  std::deque<std::uint32_t> fault_queue_, eviction_queue_;  // as Spill's
  struct Start {
    bool write = false;
    std::uint32_t chunk = 0;
  };
  std::vector<Start> starts_;  // requests of this turn
  std::size_t reads_ = 0, writes_ = 0, num_prefetched_ = 0;
  std::uint64_t num_with_content_ = 0;
  std::size_t used_ = 0;  // pages of 2 MiB that chunks have
  std::size_t made_ = 0;  // that there ever were
  bool is_new_ = false;   // the page that was obtained last: it is zero
  std::size_t limit_ = 0;
  Bytes kept_{};
  std::optional<std::uint32_t> handover_block_;  // the block that is
  Seconds handover_since_;
  std::uint64_t kernel_paged_ = 0;  // chunks
  static constexpr std::uint8_t k_resident = 1, k_stored = 2, k_content = 4;
  std::vector<std::uint8_t> pages_;  // of given blocks, once there are some
  std::deque<FilePage> paged_;       // resident ones, the oldest first
  std::optional<Seconds> page_read_;
};

}  // namespace terrace::sim
