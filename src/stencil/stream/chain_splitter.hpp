// SPDX-License-Identifier: Apache-2.0
// Decorates an executor: splits chains that do not fit into memory into shorter ones, so a program need not
// know how much memory it gets. A chain is cut where no temporary dataset has values that are read after the
// cut. The engine puts it around its executor.
#pragma once

#include <map>
#include <memory>
#include <utility>

#include "core/error.hpp"
#include "stencil/execute/executor.hpp"
#include "stencil/plan/boxes.hpp"
#include "stencil/plan/lru_map.hpp"
#include "stencil/plan/signature.hpp"

namespace terrace::stencil {

// Thrown if the smallest step of a chain needs more memory than there is, before any of the chain has run.
class InsufficientMemory : public Error {
 public:
  explicit InsufficientMemory(const std::string& text) : Error(Code::invalid, text) {}
};

class ChainSplitter final : public ExecutorDecorator {
 public:
  ChainSplitter(std::unique_ptr<Executor> executor, Statistics& statistics)
      : ExecutorDecorator(std::move(executor)), statistics_(statistics) {}

  void add(const DatasetInfo& info) override;
  // Throws InsufficientMemory if a part does not fit and cannot be cut further; the parts before it have run.
  void run(std::span<const Loop> chain, Reductions& reductions) override;

 private:
  // Returns the loop nearest to the middle before which the chain can be cut; 0: none.
  [[nodiscard]] std::size_t find_cut(std::span<const Loop> chain) const;
  [[nodiscard]] bool can_cut(std::span<const Loop> chain, std::size_t before) const;

  Statistics& statistics_;
  std::map<DatasetId, Boxes> temporaries_;    // their kept points
  LruMap<Signature, std::size_t> cuts_{512};  // of chains that did not fit
};

}  // namespace terrace::stencil
