// See virtual_executor.hpp.
#include "stencil/virtual/virtual_executor.hpp"

#include <cstring>

#include "core/error.hpp"

namespace terrace::stencil {
namespace {

class VirtualExecutor final : public Executor {
 public:
  explicit VirtualExecutor(Mode& mode) : mode_(mode) {}
  void add(const DatasetAbout& about) override {
    elements_.push_back(about.element);
    mode_.add(about);
  }
  void run(std::span<const Loop> chain, Reductions& /*reductions*/) override { mode_.run(chain); }
  void get(DatasetId dataset, const Range& range, std::byte* numbers) override {
    std::memset(numbers, 0, range.points() * elements_[dataset]);
  }
  void set(DatasetId /*dataset*/, const Range& /*range*/, const std::byte* /*numbers*/) override {}

 private:
  Mode& mode_;
  std::vector<std::size_t> elements_;
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
