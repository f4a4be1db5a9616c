// SPDX-License-Identifier: Apache-2.0
// Declares the mover for real memory, which the runtime uses outside the simulator: one thread executes queued
// transfers in FIFO order, each by the copier of its pair of places. Consecutive small chunks with the same copier
// and target form a group, which shares system calls: its transfers begin and complete together.
//
// Thread-safe. Locks are pthread mutexes that are statically initialised.
#pragma once

#include <pthread.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "core/clock.hpp"
#include "memory/ledger.hpp"
#include "transfer/copier.hpp"
#include "transfer/exchange/page_sentinels.hpp"
#include "transfer/mover.hpp"

namespace terrace::transfer {

// Not usable in a child of fork(2), which has no mover thread.
class MoveQueue final : public Mover {
 public:
  // References are non-owning and outlive the mover; clock and ledger are also used by its thread. The thread
  // starts with the first request, with all signals blocked. `enter` is called first on that thread and on those
  // of copiers, and marks them as Terrace's own for the program's instrumentation. Where no thread can be created,
  // requests are refused.
  MoveQueue(const machine::Machine& machine, memory::ChunkTable& chunks, memory::Ledger& ledger, Clock& clock,
            void (*enter)() = nullptr);
  ~MoveQueue() override;  // completes the group in progress; later transfers never begin

  // Throws Error{invalid} for an unknown place; nothing is queued then.
  using Mover::submit;
  Ticket submit(std::span<const TransferRequest> requests) override;
  [[nodiscard]] bool done(Ticket ticket) override;
  void wait(Ticket ticket) override;
  void expedite_pending() override;
  void limit_rate(double share) override;
  void forget(ChunkId first, std::uint32_t count) override;
  std::vector<TransferResult> completions() override;
  void end() override;

 private:
  struct Transfer {
    TransferResult result;
    TransferStart start;
    // Looked up by the requesting thread, because the table may grow concurrently; addresses of chunks are stable.
    memory::Chunk* chunk = nullptr;
    memory::Chunk* sentinel = nullptr;
    std::uint64_t epoch = 0;
  };
  struct ArmedSentinel {
    ChunkId chunk = 0;
    std::uint64_t epoch = 0;
    bool wanted = false;
  };
  struct SplitChunk {  // a chunk with pages on several places (copier.hpp)
    ChunkId chunk = 0;
    PlaceSet other_places = 0;
  };
  bool ensure_thread();
  void stop_thread();
  void run() noexcept;
  void await_due();
  void arm_sentinels();
  bool arm(const Transfer& transfer);
  void disarm(ChunkId first, std::uint32_t count);
  void on_touch(ChunkId sentinel, std::uint64_t epoch);
  [[nodiscard]] bool is_due(const Transfer& transfer);
  void take_group();
  void migrate_group();
  void record_results();
  void throttle(Seconds worked);
  [[nodiscard]] bool in_group(ChunkId first, std::uint32_t count) const;
  [[nodiscard]] bool is_finished(Ticket ticket) const;
  static void* thread_body(void* self);
  static void on_sentinel_touched(void* self, ChunkId sentinel, std::uint64_t epoch) noexcept;

  const machine::Machine& machine_;
  memory::ChunkTable& chunks_;
  memory::Ledger& ledger_;
  Clock& clock_;
  void (*enter_)();
  CopierTable copiers_;
  pthread_t thread_{};
  bool is_running_ = false;                 // guarded by the mutex
  std::vector<ChunkMigration> migrations_;  // of the group; mover thread only
  Copier* copier_ = nullptr;                // of the group; mover thread only; null: none supports it

  // Guarded by the mutex in every member function but migrate_group().
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t work_available_ = PTHREAD_COND_INITIALIZER;     // signals the mover thread
  pthread_cond_t transfer_finished_ = PTHREAD_COND_INITIALIZER;  // signals waiting threads
  std::deque<Transfer> queue_;                                   // not begun; ascending tickets
  std::vector<Transfer> group_;                                  // begun, not done
  std::vector<TransferResult> finished_;
  std::vector<SplitChunk> split_chunks_;
  std::vector<ArmedSentinel> armed_;  // armed sentinels
  bool sentinels_changed_ = false;    // the mover thread must re-arm
  // Number of expedite_pending() calls: a touch reported for an earlier epoch does not apply to later requests.
  std::uint64_t epoch_ = 0;
  bool stop_ = false;
  double rate_limit_ = 1;
  double group_rate_ = 0;  // of the latest group, if requested with its own rate; else 0
  int num_waiting_ = 0;    // threads in wait()
  // Threads in forget() that have not released capacity yet: later transfers, which may rely on it, must not
  // begin.
  int num_forgetting_ = 0;
  Ticket next_ = 1;

  // Created by the mover thread on first use. Last member, destroyed first: its thread calls on_touch().
  std::unique_ptr<PageSentinels> sentinels_;
  bool no_sentinels_ = false;  // not available to this process
};

}  // namespace terrace::transfer
