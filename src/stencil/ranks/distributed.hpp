// SPDX-License-Identifier: Apache-2.0
// Executes chains on several ranks: plans each rank's part, exchanges halos, and runs the local part by another
// executor as any other chain. The engine creates it for contexts with several ranks; to it this is an executor
// that owns the whole datasets. Collective: all ranks call every function in the same order with the same
// arguments.
#pragma once

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "stencil/execute/executor.hpp"
#include "stencil/plan/lru_map.hpp"
#include "stencil/plan/signature.hpp"
#include "stencil/ranks/rank_plan.hpp"
#include "stencil/ranks/rank_results.hpp"
#include "stencil/ranks/rank_storage.hpp"
#include "terrace/stencil/ranks.hpp"

namespace terrace::stencil {

class Distributed final : public Executor {
 public:
  Distributed(std::unique_ptr<Executor> executor, std::unique_ptr<Ranks> ranks, const Options& options,
              Statistics& statistics);

  void add_block(BlockId block, const std::string& name, const Range& range) override;
  void add(const DatasetInfo& info) override;
  void run(std::span<const Loop> chain, Reductions& reductions) override;
  void update_statistics() override { executor_->update_statistics(); }
  // Gathers the range on all ranks.
  void get(DatasetId dataset, const Range& range, std::byte* values) override;
  // Stores each rank's part of the values.
  void set(DatasetId dataset, const Range& range, const std::byte* values) override;

 private:
  struct Piece {
    RankPiece plan;
    Chain loops;                            // loops of which this rank runs a part
    std::vector<std::size_t> loop_indices;  // of each, its index in the piece
    // Versions of the exchanged datasets whose halos are still valid.
    std::map<DatasetId, std::uint64_t> exchanged;
  };
  struct PlannedChain {
    BlockId block = 0;
    std::vector<Piece> pieces;
    std::vector<DatasetId> kept;  // temporary datasets that cross pieces
  };
  PlannedChain& find(std::span<const Loop> chain);
  void run(std::span<const Loop> loops, const Division& division, Piece& piece, Reductions& reductions);
  void exchange(Piece& piece);

  std::unique_ptr<Executor> executor_;
  std::unique_ptr<Ranks> ranks_;
  std::ptrdiff_t max_depth_;
  Statistics& statistics_;
  std::vector<Division> divisions_;  // indexed by block
  RankStorage storage_;
  LruMap<std::pair<BlockId, Signature>, PlannedChain> plans_{64};
};

}  // namespace terrace::stencil
