// SPDX-License-Identifier: Apache-2.0
// Executes the decisions of StreamScheduler on a TieredBackend, by a thread of its own, and lets a chain wait
// for the data of its steps. Used by the executors `streamed` and `gpu`.
//
// Threads: the functions may be called by threads of the program; `mutex_` guards the scheduler and the
// transfers in flight. Steps run concurrently with transfers.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>

#include "stencil/stream/scheduler.hpp"
#include "stencil/stream/tiered_backend.hpp"
#include "terrace/stencil/statistics.hpp"

namespace terrace::stencil {

class Stream {
 public:
  // Takes ownership of the backend and starts the thread. Throws Error{failed}.
  Stream(std::unique_ptr<TieredBackend> backend, Statistics& statistics);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  // Adds a dataset and returns its first byte. Throws Error{failed} or Error{no_memory} if a memory is full.
  std::byte* add_dataset(const std::string& name, const std::vector<bool>& is_kept);
  void remove_dataset(DatasetId dataset);
  [[nodiscard]] std::size_t frames() const { return frames_; }
  [[nodiscard]] std::size_t chunk() const { return chunk_; }

  // Begins a chain. Adds the chunks that it moves to `moved`, which has one element for each step and one more.
  void begin(std::shared_ptr<const StreamPlan> plan, std::shared_ptr<const StreamPlan> ahead,
             std::shared_ptr<StreamMoves> moved);
  // Returns whether all chunks of the step are resident.
  [[nodiscard]] bool is_ready(std::size_t step);
  // Waits until the step's chunks are resident. Returns false if the chain was cancelled. At most one thread
  // may wait. Throws Error{failed} if a transfer failed.
  [[nodiscard]] bool wait_for(std::size_t step);
  // Cancels the chain's remaining steps.
  void cancel() noexcept;
  // Ends a step: its chunks may be evicted. Steps end in order; later ones may have begun.
  void end_step(std::size_t step);

  // Adds the transfers so far to the statistics, which only the caller's thread writes: the stream's thread
  // counts separately.
  void update_statistics();

  // Copy a part of a dataset's bytes, wherever its chunks are.
  void get(DatasetId dataset, std::size_t offset, std::size_t size, std::byte* to);
  void set(DatasetId dataset, std::size_t offset, std::size_t size, const std::byte* from);

 private:
  void body() noexcept;
  // Starts all transfers that can start now. Requires the lock.
  void begin_moves();
  void execute(const StreamAction& action);
  void finish(const TieredBackend::Completion& completion);
  void wake() noexcept;
  // Adds the counts to the statistics, the program's own copies included. Requires the lock.
  void add_to_statistics();
  void fail(const std::string& what);
  void throw_failure() const;
  // Calls action(part) for each chunk's part. Requires that no transfer is in flight.
  template <class Action>
  void for_parts(DatasetId dataset, std::size_t offset, std::size_t size, Action action);

  std::unique_ptr<TieredBackend> backend_;
  std::size_t chunk_;
  std::size_t frames_;
  Statistics& statistics_;
  StreamScheduler scheduler_;
  std::shared_ptr<StreamMoves> moved_;
  TieredBackend::TransferredBytes counted_;
  double fetched_ = 0;  // bytes not yet in the statistics
  double stored_ = 0;

  std::mutex mutex_;
  std::condition_variable ready_;
  std::unordered_map<std::uint64_t, StreamAction> under_way_;
  std::uint64_t next_ticket_ = 0;
  std::string failure_;
  bool is_held_ = false;  // the program copies: no transfer starts until the next chain
  bool is_cancelled_ = false;
  bool is_over_ = false;
  int wake_ = -1;
  std::thread thread_;
};

}  // namespace terrace::stencil
