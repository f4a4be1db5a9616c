// SPDX-License-Identifier: Apache-2.0
// What is behind a Context: blocks, datasets, the chain that waits, who runs it.
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

// What terrace_stencil_io calls is public: it may be a library of its own.
class Engine {
 public:
  // With others, where there are several ranks. Throws Error{invalid} for options that make no sense.
  explicit Engine(const Options& options, std::unique_ptr<Ranks> ranks = nullptr)
      : Engine(options, find_executor(options.executor), std::move(ranks)) {}
  // Whoever the options name, this one runs chains.
  Engine(const Options& options, const ExecutorVariant& executor, std::unique_ptr<Ranks> ranks);
  Engine(const Options& options, std::unique_ptr<Executor> executor);

  BlockId add_block(const std::string& name, const std::vector<std::ptrdiff_t>& size);
  // Elements of so many bytes. Those that are numbers of a type that is known can be written to files.
  DatasetId add_dataset(BlockId block, const std::string& name, std::size_t element, const Halo& halo,
                        std::optional<Number> number = std::nullopt, bool is_temporary = false,
                        const std::vector<Range>& kept = {});
  // From now on no two datasets that are kept have the same names, their own and their blocks': checkpoints go by
  // them. Throws Error{invalid}, as add_dataset() does from now on.
  void keep_names_apart();
  ReductionId add_reduction(ReductionKind kind, Number number) { return reductions_.add(kind, number); }
  // Throws Error{invalid}, which names loop and dataset, where it goes beyond a dataset, uses one of another
  // block, or reads what other points of it write.
  void add_loop(Loop loop);
  // Throws Error{invalid}, which names both datasets.
  void add_transfer(BlockTransfer transfer);
  // Throws Error{invalid} where the dataset has not all of the range.
  void check(const Range& range, DatasetId dataset) const;
  // Throws Error{invalid} where the dataset is temporary and does not keep all of the range.
  TERRACE_STENCIL_PUBLIC void check_kept(DatasetId dataset, const Range& range) const;
  TERRACE_STENCIL_PUBLIC void run();

  TERRACE_STENCIL_PUBLIC void get(DatasetId dataset, const Range& range, std::byte* values);
  TERRACE_STENCIL_PUBLIC void set(DatasetId dataset, const Range& range, const std::byte* values);
  void value_of(ReductionId reduction, std::byte* number);

  [[nodiscard]] const DatasetInfo& info(DatasetId dataset) const { return datasets_[dataset]; }
  [[nodiscard]] std::size_t datasets() const { return datasets_.size(); }
  [[nodiscard]] const BlockInfo& block_info(BlockId block) const { return blocks_[block]; }
  [[nodiscard]] const Range& range_of_block(BlockId block) const { return blocks_[block].range; }
  // As they are now: chunks may move while no chain runs.
  [[nodiscard]] const Statistics& statistics() const {
    executor_->update_statistics();
    return statistics_;
  }
  [[nodiscard]] const Options& options() const { return options_; }
  [[nodiscard]] const Chain& waiting() const { return chain_; }

 private:
  // One that waits, behind so many of the loops that wait.
  struct Waiting {
    std::size_t loops = 0;
    BlockTransfer transfer;
  };
  // Of one block.
  void run(Chain& chain);
  // Throws Error{invalid} where a chain needs a temporary dataset's numbers from before.
  void check_temporaries(std::span<const Loop> chain);

  void check_name(const DatasetInfo& info) const;

  Options options_;
  bool names_are_apart_ = false;
  Statistics statistics_;
  std::vector<BlockInfo> blocks_;
  std::deque<DatasetInfo> datasets_;  // whose names stay where they are
  Reductions reductions_;
  Chain chain_;
  std::vector<Waiting> transfers_;                  // by loops
  LruMap<Signature, std::monostate> checked_{512};  // chains whose temporaries are right
  std::unique_ptr<Executor> executor_;
};

}  // namespace terrace::stencil
