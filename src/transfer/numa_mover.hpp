// Moves chunks between NUMA nodes: one helper thread, transfers in the order in which they were asked for. A chunk's
// range gets its new policy first, so that pages touched meanwhile come from the target, and the pages that are
// there follow in batches; they keep their addresses.
#pragma once

#include <pthread.h>

#include <cstdint>
#include <deque>
#include <vector>

#include "backend/clock.hpp"
#include "backend/mover.hpp"
#include "memory/ledger.hpp"

namespace terrace::transfer {

class NumaMover final : public backend::Mover {
 public:
  // All outlive the mover. Starts its thread with every signal blocked: signals are the program's.
  NumaMover(const machine::Machine& machine, memory::ChunkTable& chunks, memory::Ledger& ledger,
            backend::Clock& clock);
  ~NumaMover() override;

  backend::Ticket submit(const backend::TransferRequest& request) override;
  [[nodiscard]] bool done(backend::Ticket ticket) override;
  void wait(backend::Ticket ticket) override;
  void forget(memory::ChunkId first, std::uint32_t count) override;
  std::vector<backend::TransferResult> harvest() override;

 private:
  void run();
  void carry_out(backend::TransferResult& transfer);
  [[nodiscard]] bool finished(backend::Ticket ticket) const;  // the mutex is held

  const machine::Machine& machine_;
  memory::ChunkTable& chunks_;
  memory::Ledger& ledger_;
  backend::Clock& clock_;
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t changed_ = PTHREAD_COND_INITIALIZER;
  pthread_t thread_{};
  std::deque<backend::TransferResult> queue_;     // asked for, not begun
  std::vector<backend::TransferResult> finished_;
  backend::TransferResult current_;
  bool busy_ = false;
  bool stop_ = false;
  backend::Ticket next_ = 1;
  std::vector<int> status_;                       // of the pages of the current chunk
};

}  // namespace terrace::transfer
