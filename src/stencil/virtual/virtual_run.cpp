// SPDX-License-Identifier: Apache-2.0
// Creates a context whose executor prices chains by a mode instead of running them. terrace-stencils with
// machine=FILE and the out-of-core experiment of terrace.lab use it. See virtual_run.hpp.
#include "stencil/virtual/virtual_run.hpp"

#include <cstring>
#include <deque>

#include "core/unknown_name.hpp"
#include "stencil/engine/engine.hpp"

namespace terrace::stencil {

namespace {

class VirtualExecutor final : public Executor {
 public:
  explicit VirtualExecutor(Mode& mode) : mode_(mode) {}
  void add(const DatasetInfo& info) override {
    infos_.push_back(info);
    mode_.add(info);
  }
  void run(std::span<const Loop> chain, Reductions& /*reductions*/) override { mode_.run(chain); }
  [[nodiscard]] CutChain cut() const override { return mode_.cut(); }
  // Priced as one loop that reads the source range and one that writes the target.
  void transfer(const BlockTransfer& transfer) override {
    run_alone(transfer.from, transfer.from_range, Access::read);
    run_alone(transfer.to, transfer.to_range, Access::write);
  }
  void get(DatasetId dataset, const Range& range, std::byte* values) override {
    std::memset(values, 0, range.points() * infos_[dataset].element);
  }
  void set(DatasetId /*dataset*/, const Range& /*range*/, const std::byte* /*values*/) override {}

 private:
  // Prices a loop without arithmetic over one dataset, for one side of a transfer.
  void run_alone(DatasetId dataset, const Range& range, Access access) {
    const auto& info = infos_[dataset];
    const Argument argument{dataset, info.name, access, {}, {0, 0, 0}, {0, 0, 0}, info.element};
    const Chain chain{{"transfer", info.block, range, {argument}, {}, {}}};
    mode_.run(chain);
  }

  Mode& mode_;
  std::deque<DatasetInfo> infos_;  // a deque, because references to names stay valid
};

}  // namespace

VirtualRun::VirtualRun(const machine::Machine& machine, const VirtualOptions& options)
    : machine_(machine.name()),
      options_(options),
      tiers_(two_tier_machine(machine, options.tiers)),
      mode_(find_mode(options.mode).make(tiers_, options.how)) {
  auto engine = std::make_unique<Engine>(Options{.executor = "virtual"}, make_virtual_executor(*mode_));
  engine_ = engine.get();
  context_ = std::make_unique<Context>(std::move(engine));
}

VirtualRun::~VirtualRun() = default;

std::string VirtualRun::copies() const {
  if (tiers_.is_gpu) return "a GPU's engines";
  if (tiers_.copier.threads == 0) return tiers_.copier.name;
  const auto threads = tiers_.copier.threads;
  return tiers_.copier.name + ", " + std::to_string(threads) + " of " + std::to_string(tiers_.cores) + " cores";
}

double VirtualRun::dataset_bytes() const {
  double bytes = 0;
  for (DatasetId dataset = 0; dataset < engine_->datasets(); ++dataset)
    bytes += static_cast<double>(engine_->info(dataset).bytes());
  return bytes;
}

const ModeVariant& find_mode(std::string_view name) {
  std::vector<std::string_view> names;
  for (const auto* mode : modes()) {
    if (mode->name == name) return *mode;
    names.push_back(mode->name);
  }
  throw Error(Code::invalid,
              "how=" + std::string(name) + ": there is no such mode; set one of " + join_names(names));
}

std::unique_ptr<Executor> make_virtual_executor(Mode& mode) { return std::make_unique<VirtualExecutor>(mode); }

}  // namespace terrace::stencil
