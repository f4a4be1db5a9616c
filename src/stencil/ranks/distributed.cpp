// SPDX-License-Identifier: Apache-2.0
// Runs the parts of chains that one rank owns: exchanges halos, runs the local loops by the inner executor, and
// gathers reductions and values. The engine creates it for contexts with several ranks (MPI).
#include "stencil/ranks/distributed.hpp"

#include <chrono>
#include <utility>

#include "stencil/data/dataset_rows.hpp"
#include "stencil/data/slabs.hpp"

namespace terrace::stencil {

Distributed::Distributed(std::unique_ptr<Executor> executor, std::unique_ptr<Ranks> ranks, const Options& options,
                         Statistics& statistics)
    : executor_(std::move(executor)),
      ranks_(std::move(ranks)),
      max_depth_(options.depth),
      statistics_(statistics),
      storage_(*executor_) {}

void Distributed::add_block(BlockId block, const std::string& name, const Range& range) {
  executor_->add_block(block, name, range);
  divisions_.emplace_back(range, ranks_->size());
}

void Distributed::add(const DatasetInfo& info) {
  storage_.add(info, intersection(info.range, divisions_[info.block].own(ranks_->rank())));
}

// Returns the cached plan of the chain, or plans it.
Distributed::PlannedChain& Distributed::find(std::span<const Loop> chain) {
  const auto block = chain.front().block;
  std::pair key(block, signature_of(chain));
  if (auto* const known = plans_.find(key)) return *known;
  PlannedChain made{block, {}, {}};
  for (auto& plan : plan_ranks(chain, divisions_[block], ranks_->rank(), max_depth_)) {
    for (const auto dataset : plan.needed)
      if (storage_.whole(dataset).is_temporary) made.kept.push_back(dataset);
    Piece piece;
    for (std::size_t l = plan.first; l < plan.last; ++l) {
      const auto& range = plan.work.ranges[l - plan.first];
      if (range.empty()) continue;
      piece.loops.push_back({chain[l].name, block, range, chain[l].arguments, {}, {}});
      piece.loop_indices.push_back(l - plan.first);
    }
    piece.plan = std::move(plan);
    made.pieces.push_back(std::move(piece));
  }
  return plans_.add(std::move(key), std::move(made));
}

void Distributed::run(std::span<const Loop> chain, Reductions& reductions) {
  auto& known = find(chain);
  for (const auto dataset : known.kept) storage_.keep(dataset);
  for (auto& piece : known.pieces)
    run(chain.subspan(piece.plan.first, piece.plan.last - piece.plan.first), divisions_[known.block], piece,
        reductions);
}

void Distributed::run(std::span<const Loop> loops, const Division& division, Piece& piece,
                      Reductions& reductions) {
  for (const auto& [dataset, range] : piece.plan.work.used) storage_.provide(dataset, range);
  exchange(piece);
  RankResults results(reductions);
  if (!piece.loops.empty()) {
    // Kernels and names differ between calls; plans do not depend on them.
    for (std::size_t i = 0; i < piece.loops.size(); ++i) {
      const auto& from = loops[piece.loop_indices[i]];
      auto& to = piece.loops[i];
      to.name = from.name;
      to.reductions = from.reductions;
      to.body = [&from](const Call& call) { from.body(call); };
      to.device = from.device;
      to.lines = from.lines;
      for (std::size_t a = 0; a < from.arguments.size(); ++a)
        to.arguments[a].dataset = storage_.part(from.arguments[a].dataset);
    }
    executor_->run(piece.loops, results);
  }
  std::vector<const RankResults::Kept*> done(loops.size(), nullptr);
  for (std::size_t i = 0; i < piece.loops.size(); ++i) done[piece.loop_indices[i]] = results.of(&piece.loops[i]);
  gather_results(loops, done, division, *ranks_, reductions);
  for (const auto dataset : piece.plan.written) storage_.changed(dataset);
  statistics_.redundant_bytes += piece.plan.redundant_bytes;
}

// Exchanges the halos that changed since this piece exchanged them last; called before its loops run.
void Distributed::exchange(Piece& piece) {
  // Halos that are unchanged since this piece exchanged them are still valid.
  std::set<DatasetId> changed;
  for (const auto dataset : piece.plan.exchanged) {
    auto& last = piece.exchanged[dataset];
    if (std::exchange(last, storage_.version(dataset)) != storage_.version(dataset)) changed.insert(dataset);
  }
  if (changed.empty()) return;
  const auto start = std::chrono::steady_clock::now();
  const auto size = [&](const Transfer& transfer) {
    return changed.contains(transfer.dataset) ? transfer.range.points() * storage_.whole(transfer.dataset).element
                                              : 0;
  };
  const auto messages = [&](const std::vector<Traffic>& all) {
    std::vector<Message> made;
    for (const auto& traffic : all) {
      std::size_t bytes = 0;
      for (const auto& transfer : traffic.transfers) bytes += size(transfer);
      if (bytes > 0) made.push_back({traffic.rank, std::vector<std::byte>(bytes)});
    }
    return made;
  };
  const auto for_transfers = [&](const std::vector<Traffic>& all, std::vector<Message>& within, auto action) {
    auto message = within.begin();
    for (const auto& traffic : all) {
      std::size_t at = 0;
      for (const auto& transfer : traffic.transfers) {
        if (size(transfer) == 0) continue;
        action(transfer, &message->bytes[at]);
        at += size(transfer);
      }
      if (at > 0) ++message;
    }
  };
  auto sent = messages(piece.plan.sent);
  auto received = messages(piece.plan.received);
  for_transfers(piece.plan.sent, sent, [&](const Transfer& transfer, std::byte* to) {
    storage_.get(transfer.dataset, transfer.range, to);
  });
  ranks_->exchange(sent, received);
  for_transfers(piece.plan.received, received, [&](const Transfer& transfer, const std::byte* from) {
    storage_.set(transfer.dataset, transfer.range, from);
  });
  ++statistics_.exchanges;
  statistics_.messages += sent.size();
  for (const auto& message : sent) statistics_.exchanged_bytes += static_cast<double>(message.bytes.size());
  statistics_.exchange_seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void Distributed::get(DatasetId dataset, const Range& range, std::byte* values) {
  const auto& whole = storage_.whole(dataset);
  const auto& division = divisions_[whole.block];
  std::vector<std::byte> own, all;
  std::vector<std::size_t> sizes(ranks_->size());
  for_slabs(range, k_slab / whole.element, [&](const Range& slab) {
    const auto bytes = [&](const Range& part) { return part.empty() ? 0 : part.points() * whole.element; };
    for (std::size_t rank = 0; rank < sizes.size(); ++rank)
      sizes[rank] = bytes(intersection(slab, division.own(rank)));
    own.resize(sizes[ranks_->rank()]);
    if (!own.empty()) storage_.get(dataset, intersection(slab, storage_.own(dataset)), own.data());
    all.resize(bytes(slab));
    ranks_->gather(own, sizes, all);
    std::size_t at = 0;
    for (std::size_t rank = 0; rank < sizes.size(); at += sizes[rank++])
      if (sizes[rank] > 0)
        copy_in(packed(range, whole.element), values, intersection(slab, division.own(rank)), &all[at]);
  });
}

void Distributed::set(DatasetId dataset, const Range& range, const std::byte* values) {
  const auto& whole = storage_.whole(dataset);
  storage_.provide(dataset, storage_.own(dataset));
  std::vector<std::byte> part;
  for_slabs(intersection(range, storage_.own(dataset)), k_slab / whole.element, [&](const Range& slab) {
    part.resize(slab.points() * whole.element);
    copy_out(packed(range, whole.element), values, slab, part.data());
    storage_.set(dataset, slab, part.data());
  });
  storage_.changed(dataset);
}

}  // namespace terrace::stencil
