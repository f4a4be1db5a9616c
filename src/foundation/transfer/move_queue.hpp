// Moves chunks between places: one helper thread, transfers in the order in which they were asked for, each by the
// copier of its way. Small chunks that follow one another on the same way share the kernel's calls: they begin and
// are done together.
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

// In the child of a fork there is no helper thread: a mover is of use in the process that made it only.
class MoveQueue final : public Mover {
 public:
  // All outlive the mover; the clock and the ledger are used from its thread, too. The thread starts with the
  // first request, and with every signal blocked: signals are the program's. `enter` is called first on that
  // thread and on those of copiers, so that who watches the program's threads leaves them alone. Where the system
  // gives no thread, requests are refused.
  MoveQueue(const machine::Machine& machine, memory::ChunkTable& chunks, memory::Ledger& ledger, Clock& clock,
            void (*enter)() = nullptr);
  ~MoveQueue() override;  // the transfer under way is finished, those behind it are not begun

  // Throws Error{invalid} for a place that the machine does not have; nothing is asked for then.
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
    // Looked up by the one who asks: the table may grow while the thread is at work, its chunks stay where they
    // are.
    memory::Chunk* chunk = nullptr;
    memory::Chunk* sentinel = nullptr;  // the same
    std::uint64_t epoch = 0;
  };
  struct ArmedSentinel {
    ChunkId chunk = 0;
    std::uint64_t epoch = 0;
    bool wanted = false;
  };
  struct SplitChunk {  // a chunk that is held on further places (copier.hpp)
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
  bool is_running_ = false;   // guarded by the mutex
  std::vector<ChunkMigration> migrations_;   // of the group; the thread's own
  Copier* copier_ = nullptr;  // the same; null where there is none for the way

  // Guarded by the mutex, in every member function above but carry_group().
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t work_available_ = PTHREAD_COND_INITIALIZER;         // for the thread
  pthread_cond_t transfer_finished_ = PTHREAD_COND_INITIALIZER;  // for those who wait
  std::deque<Transfer> queue_;                              // asked for, not begun; tickets ascend
  std::vector<Transfer> group_;                             // begun, not done
  std::vector<TransferResult> finished_;
  std::vector<SplitChunk> split_chunks_;
  std::vector<ArmedSentinel> armed_;        // sentinels
  bool sentinels_changed_ = false;  // the queue's; the thread arms and disarms
  // How often all was due: a touch that is told of later says nothing of what was asked for since.
  std::uint64_t epoch_ = 0;
  bool stop_ = false;
  double rate_limit_ = 1;
  double group_rate_ = 0;  // of those that began last, where they were asked for at one of their own
  int num_waiting_ = 0;        // threads that wait for a transfer
  // Threads that give up moves out and have not given their room back yet: moves in behind them may count on it.
  int num_forgetting_ = 0;
  Ticket next_ = 1;

  // Made by the thread when it first needs them. The last member: its own thread comes in by touched().
  std::unique_ptr<PageSentinels> sentinels_;
  bool no_sentinels_ = false;  // the system does not let this process have any
};

}  // namespace terrace::transfer
