// SPDX-License-Identifier: Apache-2.0
// Adds datasets to a Stream, copies their values, and begins chains and transfers on it. Base of the executors
// `streamed` and `gpu`. See streamed_data.hpp.
#include "stencil/stream/streamed_data.hpp"

#include <algorithm>
#include <utility>

#include "core/error.hpp"
#include "core/units.hpp"
#include "stencil/data/dataset_rows.hpp"
#include "stencil/stream/chain_splitter.hpp"

namespace terrace::stencil {

StreamedData::StreamedData(std::unique_ptr<TieredBackend> backend, std::uint64_t memory, Statistics& statistics)
    : memory_(memory),
      statistics_(statistics),
      stream_(std::move(backend), statistics),
      layout_{stream_.chunk(), {}, {}} {}

// Called by the engine when a program declares a dataset.
void StreamedData::add(const DatasetInfo& info) {
  layout_.shift.push_back(shift_in_page(infos_.size()));
  layout_.is_temporary.push_back(info.is_temporary);
  infos_.push_back(info);
  firsts_.push_back(stream_.add_dataset(info.name, kept_chunks(info, layout_)) + layout_.shift.back());
}

void StreamedData::get(DatasetId dataset, const Range& range, std::byte* values) {
  for_rows(infos_[dataset], range, [&](std::size_t at, std::ptrdiff_t offset, std::size_t size) {
    stream_.get(dataset, layout_.shift[dataset] + static_cast<std::size_t>(offset), size, values + at);
  });
}

void StreamedData::set(DatasetId dataset, const Range& range, const std::byte* values) {
  for_rows(infos_[dataset], range, [&](std::size_t at, std::ptrdiff_t offset, std::size_t size) {
    stream_.set(dataset, layout_.shift[dataset] + static_cast<std::size_t>(offset), size, values + at);
  });
}

std::vector<View> StreamedData::views(const Loop& loop) const {
  std::vector<View> views;
  for (const auto& argument : loop.arguments)
    views.push_back(infos_[argument.dataset].view(firsts_[argument.dataset]));
  return views;
}

void StreamedData::begin(const ChainPlan& plan, std::shared_ptr<const StreamPlan> ahead, std::size_t outer) {
  ahead_ = std::move(ahead);
  stream_.begin(plan.stream, ahead_, plan.moved);
  cut_ = {plan.tiles.get(), plan.stream, plan.moved, outer, layout_.chunk, stream_.frames()};
}

void StreamedData::begin(const TransferPlan& plan) {
  stream_.begin(plan.stream, ahead_, std::make_shared<StreamMoves>(plan.stream->steps.size() + 1));
}

ChainPlan StreamedData::require_fit(std::span<const Loop> chain, ChainPlan plan) const {
  if (!capacity().fits(*plan.stream)) refuse(chain, *plan.stream);
  return plan;
}

void StreamedData::refuse(std::span<const Loop> chain, const StreamPlan& plan) const {
  // If the chain can be split, ChainSplitter catches this (chain_splitter.hpp).
  throw InsufficientMemory(
      "memory=" + format(Bytes{memory_}) + " is too little for a chain of " + std::to_string(chain.size()) +
      " loops, from '" + chain.front().name + "' to '" + chain.back().name + "', whose tiles need " +
      format(Bytes{plan.most_chunks * layout_.chunk}) + ": make memory=SIZE larger" +
      (chain.size() == 1
           ? ""
           : ", or declare temporary datasets as ordinary ones: no chain is cut between the uses of a temporary"));
}

}  // namespace terrace::stencil
