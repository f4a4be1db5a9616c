// Moves chunks between NUMA nodes: one helper thread, transfers in the order in which they were asked for. Small
// chunks that follow one another to the same place share the kernel's calls: they begin and are done together.
#pragma once

#include <pthread.h>

#include <cstdint>
#include <deque>
#include <vector>

#include "backend/clock.hpp"
#include "backend/mover.hpp"
#include "memory/ledger.hpp"
#include "transfer/numa_carrier.hpp"

namespace terrace::transfer {

// In the child of a fork there is no helper thread: a mover is of use in the process that made it only.
class NumaMover final : public backend::Mover {
 public:
  // All outlive the mover; the clock and the ledger are used from its thread, too. Starts the thread with every
  // signal blocked: signals are the program's. Throws Error{failed} when the system gives no thread.
  NumaMover(const machine::Machine& machine, memory::ChunkTable& chunks, memory::Ledger& ledger,
            backend::Clock& clock);
  ~NumaMover() override;  // the transfer under way is finished, those behind it are not begun

  // Throws Error{invalid} for a place that the machine does not have; nothing is asked for then.
  using backend::Mover::submit;
  backend::Ticket submit(std::span<const backend::TransferRequest> requests) override;
  [[nodiscard]] bool done(backend::Ticket ticket) override;
  void wait(backend::Ticket ticket) override;
  void pace(double share) override;
  void forget(memory::ChunkId first, std::uint32_t count) override;
  std::vector<backend::TransferResult> harvest() override;

 private:
  struct Transfer {
    backend::TransferResult result;
    // Looked up by the one who asks: the table may grow while the thread is at work, its chunks stay where they
    // are.
    memory::Chunk* chunk = nullptr;
  };
  struct InParts {  // a chunk that is held on further places (numa_carrier.hpp)
    memory::ChunkId chunk = 0;
    PlaceSet further = 0;
  };
  void run() noexcept;
  void take_group();
  void carry_group();
  void book_group();
  void rest(Seconds worked);
  [[nodiscard]] bool in_group(memory::ChunkId first, std::uint32_t count) const;
  [[nodiscard]] bool finished(backend::Ticket ticket) const;
  static void* thread_body(void* self);

  const machine::Machine& machine_;
  memory::ChunkTable& chunks_;
  memory::Ledger& ledger_;
  backend::Clock& clock_;
  NumaCarrier carrier_;
  pthread_t thread_{};
  std::vector<Load> loads_;  // of the group; the thread's own

  // Guarded by the mutex, in every member function above but carry_group().
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t asked_ = PTHREAD_COND_INITIALIZER;         // for the thread
  pthread_cond_t finished_one_ = PTHREAD_COND_INITIALIZER;  // for those who wait
  std::deque<Transfer> queue_;                              // asked for, not begun; tickets ascend
  std::vector<Transfer> group_;                             // begun, not done
  std::vector<backend::TransferResult> finished_;
  std::vector<InParts> in_parts_;
  bool stop_ = false;
  double pace_ = 1;
  int waiting_ = 0;  // threads that wait for a transfer
  // Threads that give up moves out and have not given their room back yet: moves in behind them may count on it.
  int forgetting_ = 0;
  backend::Ticket next_ = 1;
};

}  // namespace terrace::transfer
