// SPDX-License-Identifier: Apache-2.0
// What executors share whose datasets stream between two places, whichever these are.
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
  // `memory` is what the user has stated.
  StreamedData(std::unique_ptr<TieredBackend> backend, std::uint64_t memory, Statistics& statistics);
  // Of a loop's arguments.
  [[nodiscard]] std::vector<View> views(const Loop& loop) const;
  [[nodiscard]] const std::vector<DatasetInfo>& infos() const { return infos_; }
  // For which chains are cut.
  [[nodiscard]] StreamCapacity capacity() const { return {infos_, layout_, stream_.frames()}; }
  // The same plan. Throws InsufficientMemory where not even the smallest step has room.
  [[nodiscard]] ChainPlan require_fit(std::span<const Loop> chain, ChainPlan plan) const;
  // The chain is to run; `outer` is the dimension that its steps cut.
  void begin(const ChainPlan& plan, std::shared_ptr<const StreamPlan> ahead, std::size_t outer);
  // A transfer is to run, by steps of its own. What was taken to come behind the last chain still is.
  void begin(const TransferPlan& plan);
  // Of a dataset's numbers in the fast place.
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

// Loops run in tiles that are in the cache, by threads of the processor: the executor `streamed`, over places that
// it can read and write.
[[nodiscard]] std::unique_ptr<Executor> make_streamed(const Options& options,
                                                      std::unique_ptr<TieredBackend> backend,
                                                      Statistics& statistics);

}  // namespace terrace::stencil
