// SPDX-License-Identifier: Apache-2.0
// Implements virtual_run.hpp.
#include "stencil/virtual/virtual_run.hpp"

#include "stencil/engine/engine.hpp"
#include "stencil/virtual/virtual_executor.hpp"

namespace terrace::stencil {

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

}  // namespace terrace::stencil
