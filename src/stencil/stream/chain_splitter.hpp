// SPDX-License-Identifier: Apache-2.0
// Chains that have no room in the memory as a whole run as shorter ones: a program need not know how much memory
// it will get. A chain is cut where no temporary dataset has numbers that are read behind the cut.
#pragma once

#include <map>
#include <memory>
#include <utility>

#include "core/error.hpp"
#include "stencil/execute/executor_decorator.hpp"
#include "stencil/plan/boxes.hpp"
#include "stencil/plan/lru_map.hpp"
#include "stencil/plan/signature.hpp"

namespace terrace::stencil {

// The smallest step of a chain needs more memory than there is. Thrown before any of the chain has run.
class InsufficientMemory : public Error {
 public:
  explicit InsufficientMemory(const std::string& text) : Error(Code::invalid, text) {}
};

class ChainSplitter final : public ExecutorDecorator {
 public:
  ChainSplitter(std::unique_ptr<Executor> executor, Statistics& statistics)
      : ExecutorDecorator(std::move(executor)), statistics_(statistics) {}

  void add(const DatasetInfo& info) override;
  // Throws InsufficientMemory where a part has no room and cannot be cut any more. What was before it has run.
  void run(std::span<const Loop> chain, Reductions& reductions) override;

 private:
  // The loop nearest to the middle before which the chain can be cut; 0: there is none.
  [[nodiscard]] std::size_t find_cut(std::span<const Loop> chain) const;
  [[nodiscard]] bool can_cut(std::span<const Loop> chain, std::size_t before) const;

  Statistics& statistics_;
  std::map<DatasetId, Boxes> temporaries_;    // what they keep
  LruMap<Signature, std::size_t> cuts_{512};  // of chains that had no room before
};

}  // namespace terrace::stencil
