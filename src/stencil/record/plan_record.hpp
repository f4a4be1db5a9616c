// SPDX-License-Identifier: Apache-2.0
// Records the plans of the chains that ran as a JSON document, which docs/reference/stencils.md describes. Each
// distinct chain, and each distinct plan of it, is written once. Used by the decorator Recorded (plans=FILE); read
// by `terrace show` and `terrace report`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "stencil/execute/executor.hpp"
#include "stencil/plan/signature.hpp"
#include "stencil/plan/tile_plan.hpp"

namespace terrace::stencil {

// Run-length encodes where a loop's parts end in the tiles of a dimension: interior tiles are alike, so
// hundreds of ends become a few numbers.
//
// Without skew, tile t would end (t + 1) * size points after the chain's first point. A run is a number of
// consecutive tiles whose parts all end `ahead` points further, or at the loop's own bounds if these come
// first. In a reversed dimension everything is mirrored. The last tile ends where the loop does and is in no
// run.
struct EdgeRun {
  std::size_t tiles = 0;
  std::ptrdiff_t ahead = 0;
  friend bool operator==(const EdgeRun&, const EdgeRun&) = default;
};

// Returns the minimal number of runs. `all` is the bounding range of all loops, `range` that of the loop.
[[nodiscard]] std::vector<EdgeRun> edge_runs(const TilePlan& plan, const Range& all, const Range& range,
                                             std::size_t loop, std::size_t d);

class PlanRecord {
 public:
  explicit PlanRecord(const Options& options);
  ~PlanRecord();
  PlanRecord(const PlanRecord&) = delete;
  PlanRecord& operator=(const PlanRecord&) = delete;

  void add_block(const std::string& name, const Range& range);
  void add(const DatasetInfo& info);
  // Records a run of a chain, how it was cut, and its seconds.
  void add_run(std::span<const Loop> chain, const CutChain& cut, double seconds);
  // Returns the document. Requires that no chunk moves meanwhile, because it reads their counts.
  [[nodiscard]] std::string text() const;

  static constexpr auto k_kind = "terrace stencil plans";

 private:
  struct Plan;
  struct ChainRecord;
  ChainRecord* find(std::span<const Loop> chain);

  std::unique_ptr<nlohmann::ordered_json> head_;
  std::map<Signature, ChainRecord*> by_signature_;
  std::vector<std::unique_ptr<ChainRecord>> chains_;  // in order of first run
  std::uint64_t num_skipped_ = 0;                     // runs of chains beyond the record's capacity
};

}  // namespace terrace::stencil
