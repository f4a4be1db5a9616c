// The life of a launch: folder, session, program, merge, summary. See launch.hpp.
#include "cli/launch.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <filesystem>

#include "cli/calibration.hpp"
#include "cli/gauges.hpp"
#include "cli/intent_summary.hpp"
#include "cli/job_ledgers.hpp"
#include "cli/journal_folder.hpp"
#include "cli/session_builder.hpp"
#include "cli/spill_summary.hpp"
#include "core/error.hpp"

namespace terrace::cli {

namespace fs = std::filesystem;

namespace {

std::vector<std::string> program_environment(const fs::path& session, runtime::Backend backend) {
  const auto library = library_path();
  const auto preload = environment("LD_PRELOAD");
  std::vector<std::string> variables{
      fmt::format("{}={}", runtime::k_session_variable, session.string()),
      fmt::format("LD_PRELOAD={}{}{}", library, preload.empty() ? "" : ":", preload),
      // UCX's memory hooks replace mmap and would hide the program's mappings from an interposer.
      "UCX_MEM_MMAP_HOOK_MODE=none"};
  // In virtual time one thread runs at a time: idle workers that spin would take the core from it.
  if (backend == runtime::Backend::virtual_time && environment("OMP_WAIT_POLICY").empty())
    variables.emplace_back("OMP_WAIT_POLICY=passive");
  return variables;
}

// In seconds; 0: never. Who looks at a terminal wants to know.
double report_period(const LaunchOptions& options) {
  constexpr double k_usual = 10;
  if (options.report_every) return *options.report_every;
  return !options.quiet && isatty(STDERR_FILENO) == 1 ? k_usual : 0;
}

// What belongs to the launch is removed when this returns, however the program ended.
Ending run_program(const LaunchOptions& given) {
  if (environment("TERRACE") == "off") return run_child(given.command, {});
  const auto options = given.calibrate ? calibrated(given) : given;
  JournalFolder folder(options.keep_journals);
  const auto session_file = folder.path() / "session";
  std::vector<std::string> sentences;
  auto session = build_session(options, folder.path().string(), sentences);
  const JobLedgers ledgers(session, folder.path(), sentences);
  runtime::write_session(session, session_file.string());
  for (const auto& sentence : sentences)
    if (!options.quiet) fmt::print(stderr, "terrace: {}\n", sentence);
  const auto ending = [&] {
    const Gauges gauges(options.gauges, [&] { return ledgers.views(); });
    const SpillReports reports(folder.path(), session.spill,
                               session.spill.is_wanted() ? report_period(options) : 0);
    return run_child(options.command, program_environment(session_file, session.backend));
  }();
  if (session.spill.is_wanted()) tell_of_spill(folder.path(), session.spill, options.quiet);
  if (session.backend == runtime::Backend::real)
    tell_of_intents(folder.path(), session.configurations.front().machine, options.quiet);
  if (session.intent.is_wanted()) return ending;
  folder.merge(options, options.command.front(),
               session.phases.follows_loops()
                   ? "name it with --loop NAME, or with --phases f,g the functions that begin its phases"
                   : "mark it, or try --phases auto");
  return ending;
}

}  // namespace

int launch(const LaunchOptions& options) { return end_like(run_program(options)); }

}  // namespace terrace::cli
