// See virtual_executor.hpp.
#include "stencil/virtual/virtual_executor.hpp"

#include <cstring>
#include <deque>

#include "core/error.hpp"

namespace terrace::stencil {
namespace {

class VirtualExecutor final : public Executor {
 public:
  explicit VirtualExecutor(Mode& mode) : mode_(mode) {}
  void add(const DatasetAbout& about) override {
    abouts_.push_back(about);
    mode_.add(about);
  }
  void run(std::span<const Loop> chain, Reductions& /*reductions*/) override { mode_.run(chain); }
  [[nodiscard]] CutChain cut() const override { return mode_.cut(); }
  // It takes what a loop takes that reads the one part, and one that writes the other.
  void expect_transfer(DatasetId from, const Range& from_range, DatasetId to, const Range& to_range) override {
    run_alone(from, from_range, Access::read);
    run_alone(to, to_range, Access::write);
  }
  void get(DatasetId dataset, const Range& range, std::byte* numbers) override {
    std::memset(numbers, 0, range.points() * abouts_[dataset].element);
  }
  void set(DatasetId /*dataset*/, const Range& /*range*/, const std::byte* /*numbers*/) override {}

 private:
  void run_alone(DatasetId dataset, const Range& range, Access access) {
    const auto& about = abouts_[dataset];
    const Argument argument{dataset, about.name, access, {}, {0, 0, 0}, {0, 0, 0}, about.element};
    const Chain chain{{"transfer", about.block, range, {argument}, {}, {}}};
    mode_.run(chain);
  }

  Mode& mode_;
  std::deque<DatasetAbout> abouts_;  // whose names stay where they are
};

}  // namespace

const ModeVariant& find_mode(std::string_view name) {
  std::string known;
  for (const auto* variant : modes()) {
    if (variant->name() == name) return *variant;
    known += (known.empty() ? "" : ", ") + std::string(variant->name());
  }
  throw Error(Code::invalid, "there is no mode '" + std::string(name) + "'; there are " + known);
}

std::unique_ptr<Executor> make_virtual_executor(Mode& mode) { return std::make_unique<VirtualExecutor>(mode); }

}  // namespace terrace::stencil
