// SPDX-License-Identifier: Apache-2.0
// Queues a program's loops, and runs them as chains (the loops of a block that were queued until a result is
// needed) by the executor that TERRACE_STENCIL names. Called by Context; see engine.hpp.
#include "stencil/engine/engine.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/error.hpp"
#include "stencil/engine/loop_checks.hpp"
#include "stencil/plan/chain_use.hpp"
#include "stencil/ranks/distributed.hpp"
#include "stencil/record/recorded.hpp"
#include "stencil/stream/chain_splitter.hpp"

namespace terrace::stencil {

Engine::Engine(const Options& options, const ExecutorVariant& executor, std::unique_ptr<Ranks> ranks)
    : options_(options), executor_(executor.make(options_, statistics_)) {
  if (!options_.plans.empty()) {
    auto file = options_.plans;
    if (ranks && ranks->size() > 1) file.append(".").append(std::to_string(ranks->rank()));
    executor_ = std::make_unique<Recorded>(std::move(executor_), options_, std::move(file));
  }
  executor_ = std::make_unique<ChainSplitter>(std::move(executor_), statistics_);
  if (ranks && ranks->size() > 1)
    executor_ = std::make_unique<Distributed>(std::move(executor_), std::move(ranks), options_, statistics_);
}

Engine::Engine(const Options& options, std::unique_ptr<Executor> executor)
    : options_(options), executor_(std::make_unique<ChainSplitter>(std::move(executor), statistics_)) {}

BlockId Engine::add_block(const std::string& name, const std::vector<std::ptrdiff_t>& size) {
  if (size.empty() || size.size() > k_max_dims)
    throw Error(Code::invalid, "the block '" + name + "' has " + std::to_string(size.size()) +
                                   " dimensions: give it 1 to " + std::to_string(k_max_dims));
  BlockInfo block{name, size.size(), {}};
  for (std::size_t d = 0; d < size.size(); ++d) {
    if (size[d] < 1)
      throw Error(Code::invalid, "the block '" + name + "' has " + std::to_string(size[d]) +
                                     " points in dimension " + std::to_string(d) + ": give it at least one");
    block.range.end[d] = size[d];
  }
  block.range.sides = size.size();
  executor_->add_block(static_cast<BlockId>(blocks_.size()), name, block.range);
  blocks_.push_back(block);
  return static_cast<BlockId>(blocks_.size() - 1);
}

DatasetId Engine::add_dataset(BlockId block, const std::string& name, std::size_t element, const Halo& halo,
                              std::optional<Number> number, bool is_temporary, const std::vector<Range>& kept) {
  DatasetInfo info{name, static_cast<DatasetId>(datasets_.size()), block, element, blocks_[block].range};
  info.number = number;
  info.is_temporary = is_temporary;
  info.kept = kept;
  for (std::size_t d = 0; d < k_max_dims; ++d) {
    if (halo.low[d] > 0 || halo.high[d] < 0)
      throw Error(Code::invalid, "the dataset '" + name + "' has a halo of " + std::to_string(halo.low[d]) +
                                     " to " + std::to_string(halo.high[d]) + " in dimension " + std::to_string(d) +
                                     ": pass a low side of at most 0 and a high side of at least 0");
    info.range.begin[d] += halo.low[d];
    info.range.end[d] += halo.high[d];
  }
  check_size(info);
  if (names_are_apart_) check_name(info);
  info.row = padded_row(info.range.length(0), element);
  info.plane = info.row * info.range.length(1);
  run();
  executor_->add(info);
  datasets_.push_back(std::move(info));
  return static_cast<DatasetId>(datasets_.size() - 1);
}

void Engine::check_name(const DatasetInfo& info) const {
  if (!info.outlives_chains()) return;
  const auto& block = blocks_[info.block].name;
  for (const auto& other : datasets_)
    if (other.id != info.id && other.outlives_chains() && other.name == info.name &&
        blocks_[other.block].name == block)
      throw Error(Code::invalid, "two datasets are called '" + info.name + "' in the block '" + block +
                                     "', which a checkpoint cannot tell apart: name one of them otherwise");
}

void Engine::keep_names_apart() {
  for (const auto& info : datasets_) check_name(info);
  names_are_apart_ = true;
}

void Engine::add_loop(Loop loop) {
  check_loop(loop, blocks_, datasets_);
  if (loop.range.empty()) loop.range.end = loop.range.begin;
  chain_.push_back(std::move(loop));
}

void Engine::add_transfer(BlockTransfer transfer) {
  const auto &from = datasets_[transfer.from], &to = datasets_[transfer.to];
  const auto what = "transfer from '" + from.name + "' to '" + to.name + "'";
  check_sides(what, transfer.from_range, blocks_[from.block]);
  check_sides(what, transfer.to_range, blocks_[to.block]);
  terrace::stencil::check(transfer, from, to);
  transfer.element = to.element;
  if (!transfer.to_range.empty()) transfers_.push_back({chain_.size(), transfer});
}

void Engine::run() {
  if (chain_.empty() && transfers_.empty()) return;
  const auto start = std::chrono::steady_clock::now();
  // An error discards this chain, not later ones.
  auto loops = std::exchange(chain_, {});
  const auto transfers = std::exchange(transfers_, {});
  // Blocks share no datasets, so the loops of each form a chain of their own. A transfer ends the chains of its
  // two blocks.
  std::vector<Chain> chains(blocks_.size());
  std::size_t next = 0;
  const auto add_until = [&](std::size_t end) {
    for (; next < end; ++next) chains[loops[next].block].push_back(std::move(loops[next]));
  };
  for (const auto& [before, transfer] : transfers) {
    add_until(before);
    const auto &from = datasets_[transfer.from], &to = datasets_[transfer.to];
    run(chains[from.block]);
    run(chains[to.block]);
    executor_->transfer(transfer);
    ++statistics_.transfers;
    statistics_.transferred_bytes += static_cast<double>(transfer.to_range.points() * to.element);
  }
  add_until(loops.size());
  for (auto& chain : chains) run(chain);
  executor_->update_statistics();
  statistics_.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void Engine::run(Chain& chain) {
  if (chain.empty()) return;
  ++statistics_.chains;
  statistics_.loops += chain.size();
  statistics_.longest_chain = std::max<std::uint64_t>(statistics_.longest_chain, chain.size());
  check_temporaries(chain);
  for (const auto& loop : chain) statistics_.bytes += bytes_of(loop);
  executor_->run(chain, reductions_);
  chain.clear();
}

void Engine::check_temporaries(std::span<const Loop> chain) {
  const auto is_temporary = [&](const Argument& argument) { return datasets_[argument.dataset].is_temporary; };
  if (std::ranges::none_of(chain,
                           [&](const Loop& loop) { return std::ranges::any_of(loop.arguments, is_temporary); }))
    return;
  auto signature = signature_of(chain);
  if (checked_.find(signature)) return;
  for (const auto& [dataset, use] : uses_of(chain)) {
    const auto& info = datasets_[dataset];
    if (!info.is_temporary) continue;
    Boxes kept;
    for (const auto& range : info.kept) kept.add(range);
    for (const auto& needed : use.needed.all())
      for (const auto& range : kept.missing(needed))
        throw Error(Code::invalid, "the temporary dataset '" + info.name + "' is read at " + text_of(range) +
                                       " before its chain writes it: declare it as a dataset, name the points in "
                                       "its `kept`, or request no result in between");
  }
  checked_.add(std::move(signature), {});
}

void Engine::check(const Range& range, DatasetId dataset) const {
  const auto& info = datasets_[dataset];
  check_order("dataset '" + info.name + "'", range);
  if (!info.range.contains(range))
    throw Error(Code::invalid, "dataset '" + info.name + "': " + text_of(range) + " was requested, it has " +
                                   text_of(info.range) + ": request points inside");
}

void Engine::check_kept(DatasetId dataset, const Range& range) const {
  const auto& info = datasets_[dataset];
  if (!info.is_temporary) return;
  Boxes kept;
  for (const auto& one : info.kept) kept.add(one);
  if (!kept.covers(range))
    throw Error(Code::invalid, "dataset '" + info.name + "': " + text_of(range) +
                                   " was requested, but it is temporary, and its values do not outlive a chain: "
                                   "declare it as a dataset, or name the points in its `kept`");
}

void Engine::get(DatasetId dataset, const Range& range, std::byte* values) {
  check(range, dataset);
  run();
  if (!range.empty()) executor_->get(dataset, range, values);
}

void Engine::set(DatasetId dataset, const Range& range, const std::byte* values) {
  check(range, dataset);
  run();
  if (!range.empty()) executor_->set(dataset, range, values);
}

void Engine::value_of(ReductionId reduction, std::byte* number) {
  run();
  reductions_.take_result(reduction, number);
}

}  // namespace terrace::stencil
