// SPDX-License-Identifier: Apache-2.0
// Implements a Context: owns blocks, datasets, the executor, and the queued chain (loops that wait until a result
// is needed; execution is lazy). The functions of the public API and the HDF5 library call it. Not thread-safe.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "stencil/data/block_transfer.hpp"
#include "stencil/data/reductions.hpp"
#include "stencil/execute/executor.hpp"
#include "stencil/plan/lru_map.hpp"
#include "stencil/plan/signature.hpp"
#include "terrace/stencil/context.hpp"
#include "terrace/stencil/ranks.hpp"

namespace terrace::stencil {

// The members that terrace_stencil_io calls are exported, because it may be a library of its own.
class Engine {
 public:
  // Creates the executor that the options name; `ranks` connects several processes. Throws Error{invalid} for
  // invalid options.
  explicit Engine(const Options& options, std::unique_ptr<Ranks> ranks = nullptr)
      : Engine(options, find_executor(options.executor), std::move(ranks)) {}
  // Uses the given executor, whichever the options name.
  Engine(const Options& options, const ExecutorVariant& executor, std::unique_ptr<Ranks> ranks);
  Engine(const Options& options, std::unique_ptr<Executor> executor);

  BlockId add_block(const std::string& name, const std::vector<std::ptrdiff_t>& size);
  // Adds a dataset of elements of `element` bytes. Elements of a known type (`number`) can be written to files.
  DatasetId add_dataset(BlockId block, const std::string& name, std::size_t element, const Halo& halo,
                        std::optional<Number> number = std::nullopt, bool is_temporary = false,
                        const std::vector<Range>& kept = {});
  // Requires from now on that kept datasets have distinct names (block and dataset), because checkpoints
  // identify them by name. Throws Error{invalid}, as add_dataset() does from now on.
  void keep_names_apart();
  ReductionId add_reduction(ReductionKind kind, Number number) { return reductions_.add(kind, number); }
  // Queues a loop. Throws Error{invalid}, which names loop and dataset, if it accesses points outside a
  // dataset, uses a dataset of another block, or reads points of a dataset that it also writes.
  void add_loop(Loop loop);
  // Queues a transfer. Throws Error{invalid}, which names both datasets.
  void add_transfer(BlockTransfer transfer);
  // Throws Error{invalid} unless the dataset contains the range.
  void check(const Range& range, DatasetId dataset) const;
  // Throws Error{invalid} if the dataset is temporary and does not keep all of the range.
  TERRACE_STENCIL_PUBLIC void check_kept(DatasetId dataset, const Range& range) const;
  TERRACE_STENCIL_PUBLIC void run();

  TERRACE_STENCIL_PUBLIC void get(DatasetId dataset, const Range& range, std::byte* values);
  TERRACE_STENCIL_PUBLIC void set(DatasetId dataset, const Range& range, const std::byte* values);
  void value_of(ReductionId reduction, std::byte* number);

  [[nodiscard]] const DatasetInfo& info(DatasetId dataset) const { return datasets_[dataset]; }
  [[nodiscard]] std::size_t datasets() const { return datasets_.size(); }
  [[nodiscard]] const BlockInfo& block_info(BlockId block) const { return blocks_[block]; }
  [[nodiscard]] const Range& range_of_block(BlockId block) const { return blocks_[block].range; }
  // Returns the current statistics; chunks may move while no chain runs.
  [[nodiscard]] const Statistics& statistics() const {
    executor_->update_statistics();
    return statistics_;
  }
  [[nodiscard]] const Options& options() const { return options_; }
  [[nodiscard]] const Chain& waiting() const { return chain_; }

 private:
  // A queued transfer, to run after `loops` of the queued loops.
  struct Waiting {
    std::size_t loops = 0;
    BlockTransfer transfer;
  };
  // Runs a chain of one block.
  void run(Chain& chain);
  // Throws Error{invalid} if a chain needs values of a temporary dataset from before.
  void check_temporaries(std::span<const Loop> chain);

  void check_name(const DatasetInfo& info) const;

  Options options_;
  bool names_are_apart_ = false;
  Statistics statistics_;
  std::vector<BlockInfo> blocks_;
  std::deque<DatasetInfo> datasets_;  // a deque, because references to names stay valid
  Reductions reductions_;
  Chain chain_;
  std::vector<Waiting> transfers_;                  // sorted by loops
  LruMap<Signature, std::monostate> checked_{512};  // chains that passed check_temporaries()
  std::unique_ptr<Executor> executor_;
};

}  // namespace terrace::stencil
