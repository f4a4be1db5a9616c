// How much work the program's code does, by hook: the instructions that go with it, at what they cost in their
// function where functions have core times of their own (observe/core_times.hpp); and what each function did,
// where a calibrating run asks for it.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>

#include "observe/pipeline/code_work.hpp"
#include "observe/pipeline/function_use.hpp"
#include "observe/pipeline/pipeline.hpp"
#include "runtime/session/session.hpp"

namespace terrace::agent {

struct Process;

class ProgramWork {
 public:
  // Process and session outlive it. The functions' times are those of the first configuration, in parts of its
  // program's: the caches are shared by all of them, too.
  ProgramWork(Process& process, const runtime::Session& session);

  // From now on pipelines of this configuration ask here.
  void serve(observe::PipelineConfig& pipelines) {
    pipelines.work = &code_;
    pipelines.functions = functions_ ? &*functions_ : nullptr;
  }
  // Other code may be where some was before.
  void forget() {
    code_.forget();
    if (functions_) functions_->forget();
  }
  // Writes what each function has done so far into the session's folder for it, in the place of what was written
  // before. Does nothing where it is not asked for.
  void write_functions() noexcept;

 private:
  [[nodiscard]] observe::SiteWork find(std::uint64_t site) const;

  Process& process_;
  std::unordered_map<std::string, double> costs_;  // of an instruction, in parts of the program's; by function
  observe::CodeWork code_;
  std::optional<observe::FunctionUse> functions_;
  std::string file_;
};

}  // namespace terrace::agent
