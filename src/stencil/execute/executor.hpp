// SPDX-License-Identifier: Apache-2.0
// Who runs a chain: one loop after the other, or in tiles; where the data are, too. Each is one file in
// executors/; the build makes the table of them (cmake/Variants.cmake).
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
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

// What a chain is cut into, for those who show it. The tiles are there until the next chain runs.
struct CutChain {
  const TilePlan* tiles = nullptr;  // nullptr: one loop runs after the other
  // Of data in a file: the steps, and what was moved while each of them ran, which is counted on.
  std::shared_ptr<const StreamPlan> stream{};
  std::shared_ptr<const StreamMoves> moved{};
  std::size_t outer = 0;   // the dimension whose tiles make the steps
  std::size_t chunk = 0;   // bytes
  std::size_t frames = 0;  // chunks that there is memory for
};

class Executor {
 public:
  virtual ~Executor() = default;
  // The next block; datasets say which they are of.
  virtual void add_block(BlockId /*block*/, const std::string& /*name*/, const Range& /*range*/) {}
  // A dataset that it keeps from now on; all numbers are 0.
  virtual void add(const DatasetInfo& info) = 0;
  // Nobody asks for this one any more. Its number stays taken.
  virtual void remove(DatasetId /*dataset*/) {}
  // Loops of one block, checked. Datasets and reductions are afterwards as if they had run one after the other.
  virtual void run(std::span<const Loop> chain, Reductions& reductions) = 0;
  // Of the chain that ran last.
  [[nodiscard]] virtual CutChain cut() const { return {}; }
  // Brings into the statistics what threads of its own have counted. These change in no other call but this one
  // and those that run or copy.
  virtual void update_statistics() {}
  // Copies numbers from a dataset to another; checked. By get() and set(), if there is no better way.
  virtual void transfer(const BlockTransfer& transfer);
  // Copies numbers of a part of a dataset, x fastest.
  virtual void get(DatasetId dataset, const Range& range, std::byte* values) = 0;
  virtual void set(DatasetId dataset, const Range& range, const std::byte* values) = 0;
};

class ExecutorVariant {
 public:
  virtual ~ExecutorVariant() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;
  // Which of threads, tile, memory, folder and paged it uses, by their names in TERRACE_STENCIL.
  [[nodiscard]] virtual std::vector<std::string_view> words() const { return {}; }
  // Throws Error{invalid} where the options make no sense, Error{failed} where the system refuses.
  [[nodiscard]] virtual std::unique_ptr<Executor> make(const Options& options, Statistics& statistics) const = 0;
};
const std::vector<const ExecutorVariant*>& executors();
// Throws Error{invalid} naming those that there are.
const ExecutorVariant& find_executor(std::string_view name);

// As many as the options say, or as the process may use.
[[nodiscard]] int threads_of(const Options& options);

}  // namespace terrace::stencil
