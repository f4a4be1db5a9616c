// An executor whose plans are written to a file when it ends.
#pragma once

#include <memory>
#include <string>

#include "stencil/execute/executor.hpp"
#include "stencil/record/plan_record.hpp"

namespace terrace::stencil {

class Recorded final : public Executor {
 public:
  // Throws Error{failed} where the file cannot be written, Error{invalid} where another file is there.
  Recorded(std::unique_ptr<Executor> executor, const Options& options, std::string file);
  ~Recorded() override;

  void add_block(BlockId block, const std::string& name, const Range& range) override;
  void add(const DatasetAbout& about) override;
  void remove(DatasetId dataset) override { executor_->remove(dataset); }
  void run(std::span<const Loop> chain, Reductions& reductions) override;
  [[nodiscard]] CutChain cut() const override { return executor_->cut(); }
  void transfer(const BlockTransfer& transfer) override { executor_->transfer(transfer); }
  void get(DatasetId dataset, const Range& range, std::byte* numbers) override {
    executor_->get(dataset, range, numbers);
  }
  void set(DatasetId dataset, const Range& range, const std::byte* numbers) override {
    executor_->set(dataset, range, numbers);
  }

 private:
  std::unique_ptr<Executor> executor_;
  PlanRecord record_;
  std::string file_;
};

}  // namespace terrace::stencil
