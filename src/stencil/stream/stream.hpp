// SPDX-License-Identifier: Apache-2.0
// Datasets in a slow place, of which a part is in a fast one: has the scheduler's decisions carried out, by a
// thread of its own, and waits for what a step of a chain needs. Which places these are it does not know
// (places.hpp).
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
  // Throws Error{failed}.
  Stream(std::unique_ptr<TieredBackend> backend, Statistics& statistics);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  // Where its first byte is. Throws Error{failed} or Error{no_memory} where a place has no room.
  std::byte* add_dataset(const std::string& name, const std::vector<bool>& is_kept);
  void remove_dataset(DatasetId dataset);
  [[nodiscard]] std::size_t frames() const { return frames_; }
  [[nodiscard]] std::size_t chunk() const { return chunk_; }

  // What it moves is added to `moved`, which has an element for each step and one more.
  void begin(std::shared_ptr<const StreamPlan> plan, std::shared_ptr<const StreamPlan> ahead,
             std::shared_ptr<StreamMoves> moved);
  // Whether all that the step uses is there.
  [[nodiscard]] bool is_ready(std::size_t step);
  // True once it is; false where a thread gave the chain up. One thread waits at a time. Throws Error{failed}
  // where a transfer failed.
  [[nodiscard]] bool wait_for(std::size_t step);
  // The steps that have not ended do not run any more, until the next chain begins.
  void cancel() noexcept;
  // Nobody uses what the step did any more. Steps end in their order; others may have begun.
  void end_step(std::size_t step);

  // What was moved so far is in the statistics, which nobody else writes to: the stream's thread counts by itself.
  void update_statistics();

  // A part of a dataset's bytes, wherever they are.
  void get(DatasetId dataset, std::size_t offset, std::size_t size, std::byte* to);
  void set(DatasetId dataset, std::size_t offset, std::size_t size, const std::byte* from);

 private:
  void body() noexcept;
  // All that can be begun now; holds the lock.
  void begin_moves();
  void execute(const StreamAction& action);
  void finish(const TieredBackend::Completion& completion);
  void wake() noexcept;
  // Holds the lock. What the program's own copies moved counts, too.
  void add_to_statistics();
  void fail(const std::string& what);
  void throw_failure() const;
  // Calls with each chunk's part, while nothing is under way.
  template <class Action>
  void for_parts(DatasetId dataset, std::size_t offset, std::size_t size, Action action);

  std::unique_ptr<TieredBackend> backend_;
  std::size_t chunk_;
  std::size_t frames_;
  Statistics& statistics_;
  StreamScheduler scheduler_;
  std::shared_ptr<StreamMoves> moved_;
  TieredBackend::TransferredBytes counted_;
  double fetched_ = 0;  // bytes that are not in the statistics yet
  double stored_ = 0;

  std::mutex mutex_;
  std::condition_variable ready_;
  std::unordered_map<std::uint64_t, StreamAction> under_way_;
  std::uint64_t next_ticket_ = 0;
  std::string failure_;
  bool is_held_ = false;  // the program reads or writes: nothing begins until the next chain does
  bool is_cancelled_ = false;
  bool is_over_ = false;
  int wake_ = -1;
  std::thread thread_;
};

}  // namespace terrace::stencil
