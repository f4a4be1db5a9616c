// SPDX-License-Identifier: Apache-2.0
// The plans of the chains that ran, as a document: docs/stencils.md says what it has. Each different chain is in
// it once, and each different plan of it.
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
  // A chain ran, cut like this, for so many seconds.
  void ran(std::span<const Loop> chain, const CutChain& cut, double seconds);
  // The document. While nothing is moved: its counts are read.
  [[nodiscard]] std::string text() const;

  static constexpr auto k_kind = "terrace stencil plans";

 private:
  struct Plan;
  struct Known;
  Known* find(std::span<const Loop> chain);

  std::unique_ptr<nlohmann::ordered_json> head_;
  std::map<Signature, Known*> by_signature_;
  std::vector<std::unique_ptr<Known>> known_;  // as they came
  std::uint64_t left_out_ = 0;                 // runs of chains for which there was no room
};

}  // namespace terrace::stencil
