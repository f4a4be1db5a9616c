// SPDX-License-Identifier: Apache-2.0
// Counts the work of the program's code by hook: its instructions, weighted by the core time of their function
// where that is known (observe/core_times.hpp). The access pipelines query it. A calibrating run (`terrace lab
// calibrate`) also gets the total of each function.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>

#include "observe/pipeline/function_counters.hpp"
#include "observe/pipeline/pipeline.hpp"
#include "observe/pipeline/site_work.hpp"
#include "runtime/session/session.hpp"

namespace terrace::agent {

struct Process;

class ProgramWork {
 public:
  // Process and session outlive it. The functions' times are those of the first configuration, in parts of its
  // program's: the caches are shared by all of them, too.
  ProgramWork(Process& process, const runtime::Session& session);

  // Registers this as the source of work for pipelines of this configuration.
  void attach_to(observe::PipelineConfig& pipelines) {
    pipelines.work = &code_;
    pipelines.functions = functions_ ? &*functions_ : nullptr;
  }
  // Invalidates cached code: a module was loaded or unloaded.
  void invalidate() {
    code_.clear();
    if (functions_) functions_->clear();
  }
  // Writes the work of each function so far into the session's folder, replacing the previous file. Does nothing
  // unless requested.
  void write_functions() noexcept;

 private:
  [[nodiscard]] observe::SiteWork find(std::uint64_t site) const;

  Process& process_;
  std::unordered_map<std::string, double> costs_;  // of an instruction, in parts of the program's; by function
  observe::SiteWorkTable code_;
  std::optional<observe::FunctionCounters> functions_;
  std::string file_;
};

}  // namespace terrace::agent
