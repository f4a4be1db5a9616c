// SPDX-License-Identifier: Apache-2.0
// Common base of the out-of-core executors (`streamed` and `gpu`): maps datasets to a Stream, for any
// TieredBackend.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "stencil/execute/executor.hpp"
#include "stencil/plan/transfer_plan.hpp"
#include "stencil/stream/chain_plan_cache.hpp"
#include "stencil/stream/step_plan.hpp"
#include "stencil/stream/stream.hpp"

namespace terrace::stencil {

class StreamedData : public Executor {
 public:
  void add(const DatasetInfo& info) override;
  void remove(DatasetId dataset) override { stream_.remove_dataset(dataset); }
  void get(DatasetId dataset, const Range& range, std::byte* values) override;
  void set(DatasetId dataset, const Range& range, const std::byte* values) override;
  [[nodiscard]] CutChain cut() const override { return cut_; }
  void update_statistics() override { stream_.update_statistics(); }

 protected:
  // `memory` is the size that the user stated.
  StreamedData(std::unique_ptr<TieredBackend> backend, std::uint64_t memory, Statistics& statistics);
  // Returns the accessors of a loop's arguments.
  [[nodiscard]] std::vector<View> views(const Loop& loop) const;
  [[nodiscard]] const std::vector<DatasetInfo>& infos() const { return infos_; }
  // Returns the memory for which chains are planned.
  [[nodiscard]] StreamCapacity capacity() const { return {infos_, layout_, stream_.frames()}; }
  // Returns the plan. Throws InsufficientMemory if not even the smallest step fits.
  [[nodiscard]] ChainPlan require_fit(std::span<const Loop> chain, ChainPlan plan) const;
  // Begins a chain; `outer` is the dimension that its steps cut.
  void begin(const ChainPlan& plan, std::shared_ptr<const StreamPlan> ahead, std::size_t outer);
  // Begins a transfer, which has steps of its own. Keeps the prediction of the next chain.
  void begin(const TransferPlan& plan);
  // Returns a dataset's address in the fast memory.
  [[nodiscard]] std::byte* first(DatasetId dataset) const { return firsts_[dataset]; }
  [[nodiscard]] const StreamLayout& layout() const { return layout_; }
  [[nodiscard]] Stream& stream() { return stream_; }
  [[nodiscard]] Statistics& statistics() { return statistics_; }

 private:
  [[noreturn]] void refuse(std::span<const Loop> chain, const StreamPlan& plan) const;

  std::uint64_t memory_;
  Statistics& statistics_;
  Stream stream_;
  StreamLayout layout_;
  std::vector<DatasetInfo> infos_;
  std::vector<std::byte*> firsts_;
  CutChain cut_;
  std::shared_ptr<const StreamPlan> ahead_;
};

// Creates the executor `streamed`: runs cache-sized tiles by threads of the processor, over a backend whose
// fast memory the processor can access.
[[nodiscard]] std::unique_ptr<Executor> make_streamed(const Options& options,
                                                      std::unique_ptr<TieredBackend> backend,
                                                      Statistics& statistics);

}  // namespace terrace::stencil
