// SPDX-License-Identifier: Apache-2.0
// Interface of the executors, which own the data and run chains (loops that the engine queued until a result was
// needed), loop by loop or tiled. The engine has one. Each executor is one file in executors/; the build generates
// their table (cmake/Variants.cmake).
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "stencil/data/block_transfer.hpp"
#include "stencil/data/reductions.hpp"
#include "stencil/data/storage.hpp"
#include "stencil/plan/stream_plan.hpp"
#include "stencil/plan/tile_plan.hpp"
#include "terrace/stencil/chain.hpp"
#include "terrace/stencil/options.hpp"
#include "terrace/stencil/statistics.hpp"

namespace terrace::stencil {

// Describes how a chain was cut, for reports. `tiles` is valid until the next chain runs.
struct CutChain {
  const TilePlan* tiles = nullptr;  // nullptr: untiled
  // Out-of-core execution: the steps, and the chunks moved in each, which go on being counted.
  std::shared_ptr<const StreamPlan> stream{};
  std::shared_ptr<const StreamMoves> moved{};
  std::size_t outer = 0;   // dimension whose tiles form the steps
  std::size_t chunk = 0;   // bytes
  std::size_t frames = 0;  // chunks that fit into memory
};

class Executor {
 public:
  virtual ~Executor() = default;
  // Adds the next block; datasets refer to it by its number.
  virtual void add_block(BlockId /*block*/, const std::string& /*name*/, const Range& /*range*/) {}
  // Adds a dataset, whose values are 0.
  virtual void add(const DatasetInfo& info) = 0;
  // Removes a dataset. Its number is not reused.
  virtual void remove(DatasetId /*dataset*/) {}
  // Runs validated loops of one block. The effect on datasets and reductions is that of running them in order.
  virtual void run(std::span<const Loop> chain, Reductions& reductions) = 0;
  // Returns how the last chain was cut.
  [[nodiscard]] virtual CutChain cut() const { return {}; }
  // Adds to the statistics what the executor's own threads have counted. Statistics change only in this call
  // and in those that run or copy.
  virtual void update_statistics() {}
  // Copies validated ranges between datasets. The default uses get() and set().
  virtual void transfer(const BlockTransfer& transfer);
  // Copy values of a range, x fastest.
  virtual void get(DatasetId dataset, const Range& range, std::byte* values) = 0;
  virtual void set(DatasetId dataset, const Range& range, const std::byte* values) = 0;
};

class ExecutorVariant {
 public:
  virtual ~ExecutorVariant() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;
  // Returns the options that it uses, by their names in TERRACE_STENCIL: threads, tile, memory, folder, paged.
  [[nodiscard]] virtual std::vector<std::string_view> words() const { return {}; }
  // Throws Error{invalid} for invalid options and Error{failed} if the system refuses.
  [[nodiscard]] virtual std::unique_ptr<Executor> make(const Options& options, Statistics& statistics) const = 0;
};
const std::vector<const ExecutorVariant*>& executors();
// Returns the executor. Throws Error{invalid}, which names the known executors.
const ExecutorVariant& find_executor(std::string_view name);

// Returns the number of threads that the options state, or the number of CPUs that the process may use.
[[nodiscard]] int threads_of(const Options& options);

// Base of decorators: forwards every call to another executor.
class ExecutorDecorator : public Executor {
 public:
  void add_block(BlockId block, const std::string& name, const Range& range) override {
    executor_->add_block(block, name, range);
  }
  void add(const DatasetInfo& info) override { executor_->add(info); }
  void remove(DatasetId dataset) override { executor_->remove(dataset); }
  void run(std::span<const Loop> chain, Reductions& reductions) override { executor_->run(chain, reductions); }
  [[nodiscard]] CutChain cut() const override { return executor_->cut(); }
  void update_statistics() override { executor_->update_statistics(); }
  void transfer(const BlockTransfer& transfer) override { executor_->transfer(transfer); }
  void get(DatasetId dataset, const Range& range, std::byte* values) override {
    executor_->get(dataset, range, values);
  }
  void set(DatasetId dataset, const Range& range, const std::byte* values) override {
    executor_->set(dataset, range, values);
  }

 protected:
  explicit ExecutorDecorator(std::unique_ptr<Executor> executor) : executor_(std::move(executor)) {}
  // Destroys the inner executor now.
  void end_inner() { executor_.reset(); }

 private:
  std::unique_ptr<Executor> executor_;
};

}  // namespace terrace::stencil
