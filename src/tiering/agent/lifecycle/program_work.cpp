// SPDX-License-Identifier: Apache-2.0
// Looks up in the symbol files how many instructions each hook call stands for, on behalf of the access pipelines.
// See program_work.hpp.
#include "agent/lifecycle/program_work.hpp"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <exception>

#include "agent/lifecycle/modules.hpp"
#include "agent/lifecycle/process.hpp"

namespace terrace::agent {

namespace {

// Name for copies by the compiler and the C library, which are no function's own code.
constexpr const char* k_copies = "(copies)";
constexpr const char* k_unknown = "(unknown)";

// Returns the function that a calibrating run charges the hook's work to.
std::string function_at(Process& process, std::uint64_t site) {
  if (!has_work(process, site)) return k_copies;
  const auto name = name_of_function(process, site - 1);
  return name.empty() ? k_unknown : name;
}

}  // namespace

ProgramWork::ProgramWork(Process& process, const runtime::Session& session)
    : process_(process),
      code_([this](std::uint64_t site) { return find(site); },
            !session.configurations.front().core_times.functions.empty()) {
  const auto& first = session.configurations.front();
  const auto& initiator = first.machine.initiators()[first.machine.domains()[first.domain].initiator];
  for (const auto& [name, time] : first.core_times.functions)
    costs_.emplace(name, time.value / initiator.instruction_time.value);
  if (session.functions.empty()) return;
  file_ = session.functions + "/" + std::to_string(getpid());
  functions_.emplace([&process](std::uint64_t site) { return function_at(process, site); });
}

observe::SiteWork ProgramWork::find(std::uint64_t site) const {
  const auto found = find_work(process_, site);
  const bool tells_of_a_loop = found.loops.iterates != 0 || found.loops.enters != 0;
  if (costs_.empty()) return {found.instructions, tells_of_a_loop};
  const auto cost = costs_.find(name_of_function(process_, site - 1));
  return observe::SiteWork::at_cost(found.instructions, tells_of_a_loop, cost == costs_.end() ? 1 : cost->second);
}

void ProgramWork::write_functions() noexcept {
  if (!functions_) return;
  try {
    const auto text = functions_->format();
    // Bare system calls, because open() and write() may be interposed.
    const auto file = syscall(SYS_open, file_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file < 0) return;
    [[maybe_unused]] const auto ignored = syscall(SYS_write, file, text.data(), text.size());
    syscall(SYS_close, file);
  } catch (const std::exception&) {
    // Out of memory: no file is written, and the launcher reports its absence.
  }
}

}  // namespace terrace::agent
