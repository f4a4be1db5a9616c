// SPDX-License-Identifier: Apache-2.0
// Owns a context whose chains are priced in virtual time. Programs run in it unmodified:
// terrace-stencils with machine=FILE, and the out-of-core experiment of terrace.lab.
#pragma once

#include <memory>
#include <string>

#include "machine/machine.hpp"
#include "stencil/execute/executor.hpp"
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
  // Throws Error{invalid} for an unknown mode and for a machine with one memory.
  VirtualRun(const machine::Machine& machine, const VirtualOptions& options);
  ~VirtualRun();
  VirtualRun(const VirtualRun&) = delete;
  VirtualRun& operator=(const VirtualRun&) = delete;

  [[nodiscard]] Context& context() { return *context_; }
  [[nodiscard]] const ModeCounts& counts() const { return mode_->counts(); }
  [[nodiscard]] const TwoTierMachine& tiers() const { return tiers_; }
  [[nodiscard]] const std::string& machine() const { return machine_; }
  [[nodiscard]] const std::string& mode() const { return options_.mode; }
  // Returns the copier in words: "a GPU's engines", or "swap, 4 of 64 cores"; "ideal" if no core copies.
  [[nodiscard]] std::string copies() const;
  // Returns the bytes of all datasets.
  [[nodiscard]] double dataset_bytes() const;

 private:
  std::string machine_;
  VirtualOptions options_;
  TwoTierMachine tiers_;
  std::unique_ptr<Mode> mode_;
  Engine* engine_;
  std::unique_ptr<Context> context_;
};

// Creates an executor that prices chains by a Mode and runs no kernel: loops, datasets and ranges determine the
// time. Datasets have no memory, and all their values read as 0; reductions are the identity. The mode must
// outlive the executor.
[[nodiscard]] std::unique_ptr<Executor> make_virtual_executor(Mode& mode);

}  // namespace terrace::stencil
