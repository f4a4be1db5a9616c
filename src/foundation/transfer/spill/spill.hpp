// SPDX-License-Identifier: Apache-2.0
// Declares out-of-core memory: a user-space pager that keeps some 2 MiB chunks of a range in memory and the others
// in a file. The agent's out-of-core heap (`terrace run --memory`) calls it by SpillEngine.
//
// A pager thread services page faults (userfaultfd(2)), prefetches and evicts chunks as the replacement policy
// (replacement_policy.hpp) decides, and writes dirty chunks back. States of a chunk: chunk_state.hpp.
//
// Invariant: no write is lost. An eviction unmaps a chunk by UFFDIO_MOVE, after which no thread can write to it.
// Its hash is then compared with that of the file's copy; its page is reused only once the file holds the content.
// What the file refuses stays in memory. The pager allocates all memory that it needs at the start, or waits for
// it.
//
// Threads: the pager thread has its own file table (unshare(CLONE_FILES)), so the program cannot close its files.
// Public calls are thread-safe. A call posts its arguments and touches a watched page (`call_page_`): the pager
// receives the call as a page fault, and the caller waits in the kernel until it is done.
//
// One class in several files: spill.cpp (thread, faults and I/O completions), spill_flow.cpp (prefetch, eviction,
// write-back), spill_calls.cpp (calls), spill_limit.cpp (limit and statistics), spill_kernel_paged.cpp (blocks
// that the kernel pages), spill_reclaim.cpp (taking them back), spill_fork.cpp (children of fork).
#pragma once

#include <pthread.h>
#include <semaphore.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/units.hpp"
#include "transfer/exchange/userfault.hpp"
#include "transfer/spill/block_use.hpp"
#include "transfer/spill/chunk_state.hpp"
#include "transfer/spill/disk_queue.hpp"
#include "transfer/spill/fault_waits.hpp"
#include "transfer/spill/remapper.hpp"
#include "transfer/spill/spill_engine.hpp"
#include "transfer/spill/spill_file.hpp"
#include "transfer/spill/spill_limits.hpp"
#include "transfer/spill/spill_pool.hpp"

namespace terrace::transfer {

class Spill final : public SpillEngine {
 public:
  // Throws Error{failed} where the system lacks a required feature.
  explicit Spill(const Parts& parts);
  // Discards all content.
  ~Spill() override;
  // Returns 0 where this process may use userfaultfd with the required features, else the errno value.
  [[nodiscard]] static int problem_here() noexcept;

  // Reserves file space for the block as soon as memory is short, as far as the disk has some.
  void reserve(std::uint64_t address, std::size_t size) noexcept override;
  void release(std::uint64_t address, std::size_t size) noexcept override;
  void discard(std::uint64_t address, std::size_t size) noexcept override;
  void unmanage(std::uint64_t address, std::size_t size) noexcept override;
  void prefer(std::uint64_t address, std::size_t size, Preference preference) noexcept override;
  // Chunks with non-default protection are never handed to the kernel: a file mapping could not preserve it.
  void change_protection(std::uint64_t address, std::size_t size, bool is_default) noexcept override;
  // Returns the name of the I/O queue in use.
  [[nodiscard]] const char* queue_name() const noexcept { return queue_name_; }

  // Writes dirty chunks back, and gives the child private mappings of the file; the file parts that it maps are
  // never overwritten from then on. Chunks that the file refuses, that cannot be unmapped, or that contain
  // `at_once` addresses are shared copy-on-write. The child has no pager thread: the kernel pages its copy.
  void before_fork(std::span<const std::uint64_t> at_once) noexcept override;
  void after_fork() noexcept override;
  void in_child() noexcept override;

 private:
  using Slot = SpillPool::Slot;
  static_assert(k_chunk == SpillPool::k_chunk);
  static constexpr std::uint8_t k_max_read_attempts = 3;
  struct Hash {
    std::uint64_t low = 0, high = 0;
    bool operator==(const Hash&) const = default;
  };
  struct Chunk {  // zero-initialised memory is a valid empty chunk
    ChunkState state{};
    bool clean = false;              // the slot's content equals the file's
    bool writing = false;            // a write is in flight
    bool fault_pending = false;      // a thread waits for it
    bool refault_pending = false;    // needed again while its write is in flight: cancel the eviction afterwards
    bool has_copy = false;           // the file holds content with `hash`
    bool pinned = false;             // not evictable
    bool write_refused = false;      // pinned because the file refused it
    bool prefetched = false;         // read before its access
    bool shared_with_child = false;  // a child maps `file_chunk`
    std::uint8_t failed_reads = 0;
    Slot slot = 0;                     // pool slot, in states that have one
    std::uint32_t eviction_epoch = 0;  // value of num_evictions_ at its latest eviction (refault distance)
    std::uint32_t file_chunk = 0;      // index in the file; 0: its own index in memory
    Hash hash{};
  };
  struct Waiter {
    ChunkId chunk = 0;
    std::uint32_t thread = 0;
    std::uint64_t since = 0;  // nanoseconds
  };
  struct DeferredTouch {
    std::uint64_t address = 0;
    std::uint32_t thread = 0;
  };
  struct Worker {  // a thread of the program
    std::uint32_t number = 0;
    std::uint64_t resumed = 0;  // end of its latest wait for a chunk; 0: none
    std::uint64_t worked = 0;   // its processor time at the latest access; nanoseconds
    VisitWork work{};
  };
  // A range that was reserved by one call. Where most loads of a block are unpredicted, or use little of each
  // chunk, reading whole chunks is wasteful. The block is then handed over to kernel paging as a file mapping, for
  // a period that doubles each time.
  struct Block {
    std::uint32_t count = 0;
    bool space_requested = false;     // file space
    bool has_file_space = false;      // for all of it
    bool protection_changed = false;  // non-default protection in a part: neither handed over nor reclaimed
    bool unreclaimable = false;       // stays with the kernel: a reclaim failed
    bool merged = false;              // from several pieces
    BlockUse use{};
    PageTrial trial{};
    PageTrial::Sample seen{};   // when `use` began
    bool handing_over = false;  // handover in progress
    bool kernel_paged = false;
    bool flushing = false;     // reclaimed: unmapped from the file, dirty pages being written
    std::uint64_t since = 0;   // start of the period; nanoseconds
    std::uint64_t period = 0;  // time with the kernel until the next review; nanoseconds
    [[nodiscard]] bool can_be_reclaimed() const noexcept {
      return kernel_paged && !protection_changed && !unreclaimable;
    }
  };
  using Blocks = std::map<ChunkId, Block>;
  struct ChildMapping {  // what a child of fork maps at `place`
    std::uint64_t place = 0;
    std::uint64_t size = 0;
    bool zeros = false;
    std::uint64_t offset = 0;  // in the file
    std::uint64_t mapped = 0;  // address of the inherited file mapping; 0: none
  };
  struct Call {
    enum class Kind : std::uint8_t { stop, fork, reserve, release, discard, unmanage, prefer, change_protection };
    Kind kind = Kind::stop;
    std::uint64_t address = 0;
    std::size_t size = 0;
    bool is_default = false;  // change_protection()
    Preference preference = Preference::none;
  };

  // Returns the state that the policy sees. Invariant: the policy is notified of each change.
  [[nodiscard]] PageState page_state(ChunkId chunk) const noexcept {
    const auto& one = chunks_[chunk];
    if (one.state == ChunkState::mapped && one.pinned) return PageState::pinned;
    return page_state_of(one.state,
                         one.fault_pending || (one.state == ChunkState::evicting && one.refault_pending));
  }
  void notify_policy(ChunkId chunk) noexcept { policy_->on_state_change(chunk, page_state(chunk)); }
  [[nodiscard]] std::uint64_t address_of(ChunkId chunk) const noexcept { return base_ + chunk * k_chunk; }
  [[nodiscard]] std::uint64_t offset(ChunkId chunk) const noexcept {
    return (chunks_[chunk].file_chunk > 0 ? chunks_[chunk].file_chunk : chunk) * k_chunk;
  }

  // Pager thread (spill.cpp). acquire_resources() and release_resources() frame run().
  static void* thread_body(void* self);
  void acquire_resources();
  static void prepare_range(std::uint64_t address, std::size_t size) noexcept;
  void release_resources() noexcept;
  void run() noexcept;
  void drain_faults() noexcept;
  void handle_fault(std::uint64_t address, std::uint32_t thread) noexcept;
  void drain_completions() noexcept;
  void account_disk_time() noexcept;
  void update_prediction(std::uint64_t time) noexcept;

  // Limit of resident chunks, and statistics (spill_limit.cpp).
  void adapt_limit() noexcept;
  void update_concurrency() noexcept;
  void apply_limit() noexcept;
  void note_refault(std::uint32_t left) noexcept;
  void set_refused(ChunkId chunk, bool value) noexcept;
  void retry_refused() noexcept;
  void warn_too_small() noexcept;
  void update_counts() noexcept;
  void sample_fault_waits() noexcept;
  void note_over_limit(std::size_t chunks) noexcept;

  // Calls (spill_calls.cpp).
  void post_and_wait(const Call& call) noexcept;
  void post_call(const Call& call) noexcept;  // requires call_mutex_
  void complete_call() noexcept;
  bool execute_call() noexcept;
  bool refill_spare_blocks() noexcept;
  void add_block(ChunkId first, const Block& block) noexcept;
  void reserve_now(ChunkId first, std::size_t count) noexcept;
  void reserve_file_space() noexcept;
  // The *_now functions return false while an operation in flight prevents the call: retry when it has ended.
  bool release_now(ChunkId first, std::size_t count) noexcept;
  bool discard_now(ChunkId first, std::size_t count) noexcept;
  bool unmanage_now(ChunkId first, std::size_t count) noexcept;
  bool change_protection_now(ChunkId first, std::size_t count, bool is_default) noexcept;
  [[nodiscard]] bool is_busy(ChunkId first, ChunkId end) const noexcept;
  bool fetch_and_pin(ChunkId chunk) noexcept;
  bool fetch(ChunkId chunk) noexcept;
  void unmanage_chunk(ChunkId chunk) noexcept;
  void drop_content(ChunkId chunk) noexcept;
  void discard_page(ChunkId chunk) noexcept;

  // Children of fork (spill_fork.cpp).
  bool fetch_eager_chunks() noexcept;
  void snapshot_for_child() noexcept;
  bool map_all_resident() noexcept;
  bool save_to_file(ChunkId chunk) noexcept;
  bool share_with_child(ChunkId chunk) noexcept;
  void add_child_mapping(ChunkId first, std::uint32_t count, bool zeros) noexcept;
  void map_snapshot() noexcept;
  bool write_sync(ChunkId chunk, std::uint64_t address) noexcept;
  void assign_file_chunk(ChunkId chunk) noexcept;
  void release_file_chunk(ChunkId chunk) noexcept;
  [[nodiscard]] bool is_frozen(ChunkId chunk) const noexcept { return chunk < frozen_.size() && frozen_[chunk]; }

  // Faults and I/O completions (spill.cpp).
  void on_fault(std::uint64_t address, std::uint32_t thread) noexcept;
  void on_read_done(ChunkId chunk, int error) noexcept;
  void on_write_done(ChunkId chunk, int error) noexcept;
  void map_chunk(ChunkId chunk) noexcept;
  void resume_waiters(ChunkId chunk) noexcept;

  // Blocks that the kernel pages (spill_kernel_paged.cpp, spill_reclaim.cpp).
  [[nodiscard]] Blocks::iterator block_of(ChunkId chunk) noexcept;
  [[nodiscard]] BlockUse& heap_of(ChunkId first) noexcept {
    return heaps_[first / spill_limits::k_heap_region_chunks];
  }
  [[nodiscard]] std::size_t heaps() const noexcept { return count_ / spill_limits::k_heap_region_chunks + 1; }
  [[nodiscard]] bool is_irregular(Blocks::iterator block) noexcept;
  void merge_kernel_blocks(Blocks::iterator block) noexcept;
  void cancel_handovers_in(ChunkId first, ChunkId end) noexcept;
  void split_block(ChunkId at) noexcept;
  [[nodiscard]] Blocks::iterator divide_blocks(ChunkId first, ChunkId end) noexcept;
  void note_load(ChunkId chunk, bool expected, bool sparse) noexcept;
  void hand_over_to_kernel(Blocks::iterator block) noexcept;
  void continue_handover() noexcept;
  void cancel_handover(Blocks::iterator block) noexcept;
  void service_deferred_faults(Blocks::iterator block) noexcept;
  void service_deferred_faults(ChunkId chunk) noexcept;
  void review_kernel_blocks() noexcept;
  bool reclaim_range(ChunkId first, ChunkId end) noexcept;
  void start_reclaim(Blocks::iterator block) noexcept;
  void continue_reclaim() noexcept;
  void finish_reclaim(Blocks::iterator block, int error) noexcept;
  [[nodiscard]] bool is_being_reclaimed(ChunkId first, ChunkId end) const noexcept;
  bool zero_empty_chunks_in_file(ChunkId first, std::uint32_t count) noexcept;
  bool replace_mapping(std::uint64_t address, std::size_t size) noexcept;
  void reclaim_from_kernel(Blocks::iterator block) noexcept;
  void remap_fresh(ChunkId first, std::uint32_t count) noexcept;
  [[nodiscard]] std::uint64_t shrink_kernel_paged(std::uint64_t mapped, std::uint64_t stays) noexcept;
  [[nodiscard]] Worker& worker(std::uint32_t thread) noexcept;
  [[nodiscard]] PageTrial::Sample sample_from_touches() const noexcept;
  [[nodiscard]] PageTrial::Sample sample_from_system() const noexcept;
  [[nodiscard]] Seconds page_wait_time() const noexcept;

  // One step of the pager: prefetch, eviction, write-back (spill_flow.cpp).
  void step() noexcept;
  void service_faults(bool forced) noexcept;
  void prefetch() noexcept;
  void evict_ahead() noexcept;
  void arm_sentinels() noexcept;
  void write_back_dirty() noexcept;
  bool write_back(ChunkId chunk) noexcept;
  bool begin_eviction(ChunkId chunk) noexcept;
  void release_excess_pages() noexcept;
  Slot take_free_slot() noexcept;
  Slot obtain_slot(bool forced) noexcept;
  void start_read(ChunkId chunk, Slot slot) noexcept;
  void cancel_eviction(ChunkId chunk) noexcept;
  void set_prefetched(ChunkId chunk, bool value) noexcept;
  void pin(ChunkId chunk) noexcept;
  [[nodiscard]] std::size_t num_clean_evicting() const noexcept;

  std::uint64_t base_;
  std::size_t count_;  // chunks
  SpillCounts* counts_;
  std::optional<Userfault> faults_;
  std::optional<SpillFile> file_;
  std::unique_ptr<DiskQueue> disk_;
  const char* queue_name_ = "";
  std::optional<SpillPool> pool_;
  std::optional<Remapper> remapper_;
  std::unique_ptr<ReplacementPolicy> policy_;
  Chunk* chunks_ = nullptr;
  BlockUse* heaps_ = nullptr;  // by region of k_heap_region_chunks chunks
  // Vectors have their final capacity from the start: the pager must not allocate.
  std::vector<Waiter> waiters_;
  std::vector<Worker> workers_;
  std::vector<ChunkId> fault_queue_;     // chunks with a pending fault and without a page
  std::vector<ChunkId> eviction_queue_;  // oldest first
  std::size_t reads_ = 0;                // in flight
  std::size_t writes_ = 0;
  std::size_t num_prefetched_ = 0;      // resident or reading chunks that were not accessed yet
  std::uint64_t num_with_content_ = 0;  // chunks that are not empty
  Blocks blocks_;
  Blocks spare_blocks_;                  // preallocated map nodes
  bool space_request_pending_ = false;   // some block has not requested file space yet
  std::uint64_t kernel_paged_ = 0;       // chunks that the kernel pages
  std::uint64_t handover_since_ns_ = 0;  // start of the handover in progress; 0: none
  Blocks::iterator reclaimed_block_{};   // valid while is_reclaiming_
  bool is_reclaiming_ = false;
  std::uint64_t clock_hand_ = 0;  // next kernel-paged chunk whose pages are paged out
  FaultWaits fault_waits_;        // in blocks that the kernel pages
  const bool sees_fault_waits_ = FaultWaits::is_supported();
  std::uint64_t begun_ns_ = 0;
  Seconds cpu_time_at_start_{};         // of the program
  std::uint64_t other_file_bytes_ = 0;  // resident bytes of the process's other file mappings
  std::uint64_t excess_bytes_ = 0;      // bytes beyond the limit that no chunk accounts for
  std::size_t chunk_budget_ = 0;        // chunks that fit beside the rest of the process
  std::size_t allowed_chunks_ = 0;      // the same, at least k_min_resident
  std::size_t min_chunks_ = spill_limits::k_min_resident,
              max_min_chunks_ = spill_limits::k_min_resident;       // allowed in any case
  std::size_t num_refused_ = 0;                                     // chunks whose write the file refused
  std::uint64_t refusals_retried_ns_ = 0;                           // time of the latest retry or first refusal
  std::uint64_t retry_interval_ns_ = spill_limits::k_min_retry_ns;  // until the next retry
  std::size_t num_refaults_ = 0, num_early_refaults_ = 0;           // since the last evaluation
  std::uint32_t num_evictions_ = 0;
  std::uint64_t busy_since_ns_ = 0;     // start of I/O; 0: none in flight
  std::uint64_t num_unexpected_ = 0;    // unpredicted accesses to swapped-out chunks
  std::uint64_t program_work_ns_ = 0;   // processor time of the program between observed accesses
  std::uint64_t num_soft_faults_ = 0;   // faults on resident chunks
  std::uint64_t soft_fault_ns_ = 0;     // their total wait
  std::uint64_t limit_adapted_ns_ = 0;  // time of the latest adapt_limit()
  std::vector<bool> frozen_;            // by file chunk at its own index: a child maps it
  std::vector<ChildMapping> child_mappings_;
  std::array<ChunkId, k_at_once> eager_chunks_{};  // resident in the child from its first instruction
  std::size_t num_eager_chunks_ = 0;
  std::vector<std::uint32_t> free_file_chunks_;  // released indices behind the file's regular part
  std::vector<DeferredTouch> deferred_touches_;  // faults received during a remap
  std::uint32_t next_file_chunk_ = 0;            // first index never used
  bool child_shares_all_ = false;                // copy-on-write: all chunks,
  bool child_shares_some_ = false;               // or some
  sem_t forked_{};
  bool said_full_ = false, said_write_ = false, said_read_ = false, said_lost_ = false, said_too_small_ = false,
       said_child_ = false, said_kernel_ = false;

  std::uint64_t call_page_ = 0;  // watched page that callers touch
  std::mutex call_mutex_;
  Call call_;
  std::atomic<std::uint32_t> calls_{0}, answers_{0};
  bool call_pending_ = false;  // posted and not completed
  bool is_executing_call_ = false;
  bool stop_requested_ = false;  // pager thread only
  sem_t started_{};
  std::string problem_;  // reason why the start failed
  pthread_t thread_{};
};

}  // namespace terrace::transfer
