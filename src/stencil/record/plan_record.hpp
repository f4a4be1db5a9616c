// SPDX-License-Identifier: Apache-2.0
// Records the plans of the chains that ran as a JSON document, which docs/how-to/stencils.md describes. Each
// distinct chain, and each distinct plan of it, is written once.
#pragma once

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

namespace terrace::stencil {

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
