// SPDX-License-Identifier: Apache-2.0
// Decorates an executor: records the plans of its chains and writes them to a file at the end. The engine adds it
// if TERRACE_STENCIL has plans=FILE.
#pragma once

#include <memory>
#include <string>

#include "stencil/execute/executor.hpp"
#include "stencil/record/plan_record.hpp"

namespace terrace::stencil {

class Recorded final : public ExecutorDecorator {
 public:
  // Throws Error{failed} if the file cannot be written, Error{invalid} if another file exists there.
  Recorded(std::unique_ptr<Executor> executor, const Options& options, std::string file);
  ~Recorded() override;

  void add_block(BlockId block, const std::string& name, const Range& range) override;
  void add(const DatasetInfo& info) override;
  void run(std::span<const Loop> chain, Reductions& reductions) override;

 private:
  PlanRecord record_;
  std::string file_;
};

}  // namespace terrace::stencil
