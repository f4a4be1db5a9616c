// SPDX-License-Identifier: Apache-2.0
// Base of decorators: forwards every call to another executor.
#pragma once

#include <memory>
#include <utility>

#include "stencil/execute/executor.hpp"

namespace terrace::stencil {

class ExecutorDecorator : public Executor {
 public:
  void add_block(BlockId block, const std::string& name, const Range& range) override {
    executor_->add_block(block, name, range);
  }
  void add(const DatasetInfo& info) override { executor_->add(info); }
  void remove(DatasetId dataset) override { executor_->remove(dataset); }
  void run(std::span<const Loop> chain, Reductions& reductions) override { executor_->run(chain, reductions); }
  [[nodiscard]] CutChain cut() const override { return executor_->cut(); }
  void update_statistics() override { executor_->update_statistics(); }
  void transfer(const BlockTransfer& transfer) override { executor_->transfer(transfer); }
  void get(DatasetId dataset, const Range& range, std::byte* values) override {
    executor_->get(dataset, range, values);
  }
  void set(DatasetId dataset, const Range& range, const std::byte* values) override {
    executor_->set(dataset, range, values);
  }

 protected:
  explicit ExecutorDecorator(std::unique_ptr<Executor> executor) : executor_(std::move(executor)) {}
  // Destroys the inner executor now.
  void end_inner() { executor_.reset(); }

 private:
  std::unique_ptr<Executor> executor_;
};

}  // namespace terrace::stencil
