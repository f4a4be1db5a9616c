// SPDX-License-Identifier: Apache-2.0
// A context whose chains are priced in virtual time: what programs take, and get their figures from.
#pragma once

#include <memory>
#include <string>

#include "machine/machine.hpp"
#include "stencil/virtual/mode.hpp"
#include "terrace/stencil/context.hpp"

namespace terrace::stencil {

struct VirtualOptions {
  std::string mode = "streamed";
  TwoTierOptions tiers;
  ModeOptions how;
};

class VirtualRun {
 public:
  // Throws Error{invalid} for a mode that there is not, and a machine with one memory.
  VirtualRun(const machine::Machine& machine, const VirtualOptions& options);
  ~VirtualRun();
  VirtualRun(const VirtualRun&) = delete;
  VirtualRun& operator=(const VirtualRun&) = delete;

  [[nodiscard]] Context& context() { return *context_; }
  [[nodiscard]] const ModeCounts& counts() const { return mode_->counts(); }
  [[nodiscard]] const TwoTierMachine& tiers() const { return tiers_; }
  [[nodiscard]] const std::string& machine() const { return machine_; }
  [[nodiscard]] const std::string& mode() const { return options_.mode; }
  // Who copies between the memories: "a GPU's engines", or "swap, 4 of 64 cores"; "ideal" where no core does.
  [[nodiscard]] std::string copies() const;
  // Of all datasets together.
  [[nodiscard]] double dataset_bytes() const;

 private:
  std::string machine_;
  VirtualOptions options_;
  TwoTierMachine tiers_;
  std::unique_ptr<Mode> mode_;
  Engine* engine_;
  std::unique_ptr<Context> context_;
};

}  // namespace terrace::stencil
