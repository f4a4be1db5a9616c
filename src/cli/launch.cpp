// The life of a launch: folder, session, program, merge, summary. See launch.hpp.
#include "cli/launch.hpp"

#include <fmt/core.h>

#include <filesystem>

#include "base/error.hpp"
#include "cli/journal_folder.hpp"
#include "cli/session_builder.hpp"

namespace terrace::cli {

namespace fs = std::filesystem;

namespace {

<<<<<<< HEAD
std::vector<std::string> program_environment(const fs::path& session) {
=======
std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

// What tells this job from others: the batch system's number where there is one.
std::string job_id() {
  for (const char* name : {"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID"})
    if (auto id = environment(name); !id.empty()) return id;
  return std::to_string(getpid());
}

// Node-local and ours alone.
fs::path make_folder() {
  const auto base = environment("TMPDIR").empty() ? std::string("/tmp") : environment("TMPDIR");
  auto name = base + "/terrace-XXXXXX";
  if (!mkdtemp(name.data())) throw Error(Code::failed, "cannot make a folder in " + base + "; set TMPDIR");
  return name;
}

std::string output_for(const LaunchOptions& options, const std::string& label) {
  auto name = options.output;
  if (name.empty()) name = fs::path(options.command.front()).filename().string() + "." + job_id() + ".terrace";
  return output_of_world(name, label);
}

std::vector<std::string> program_environment(const fs::path& session, front::Backend backend) {
>>>>>>> main
  const auto library = library_path();
  const auto preload = environment("LD_PRELOAD");
  std::vector<std::string> variables{
      std::string(front::k_session_variable) + "=" + session.string(),
      "LD_PRELOAD=" + library + (preload.empty() ? "" : ":" + preload),
      // UCX's memory hooks replace mmap and would hide the program's mappings from an interposer.
      "UCX_MEM_MMAP_HOOK_MODE=none"};
  // In virtual time one thread runs at a time: idle workers that spin would take the core from it.
  if (backend == front::Backend::virtual_time && environment("OMP_WAIT_POLICY").empty())
    variables.emplace_back("OMP_WAIT_POLICY=passive");
  return variables;
}

}  // namespace

int launch(const LaunchOptions& options) {
  if (environment("TERRACE") == "off") return end_like(run_child(options.command, {}));
  JournalFolder folder(options.keep_journals);
  const auto session_file = folder.path() / "session";
  std::vector<std::string> unknown_phases;
  const auto session = build_session(options, folder.path().string(), unknown_phases);
  front::write_session(session, session_file.string());
  for (const auto& name : unknown_phases)
    if (!options.quiet)
      fmt::print(stderr, "terrace: --phases: no function of {} is called '{}', unless it loads one later\n",
                 options.command.front(), name);
<<<<<<< HEAD
  const auto ending = run_child(options.command, program_environment(session_file));
  folder.merge(options, options.command.front());
=======
  const auto ending = run_child(options.command, program_environment(session_file, session.backend));
  Journals journals;
  add_journals_in(journals, folder);
  try {
    for (const auto& [label, files] : journals) {
      const auto merged = profile::merge_journals(files, output_for(options, label));
      if (!options.quiet) print_summary(merged, label, options.json);
    }
  } catch (const Error& error) {
    // Nothing is lost: there may be room elsewhere.
    sweep.keep = true;
    throw Error(error.code(), fmt::format("{}; the journals stay in {}: terrace merge {} -o FILE", error.what(),
                                          folder.string(), folder.string()));
  }
  if (options.keep_journals) fmt::print(stderr, "terrace: journals are in {}\n", folder.string());
>>>>>>> main
  return end_like(ending);
}

}  // namespace terrace::cli
