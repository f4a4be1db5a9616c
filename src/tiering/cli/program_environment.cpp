// SPDX-License-Identifier: Apache-2.0
// Implements the environment of programs under Terrace. See program_environment.hpp.
#include "cli/program_environment.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cli/journal_folder.hpp"
#include "cli/launch.hpp"

namespace terrace::cli {

namespace {

// Registers the library as the tool of NVTX and Kokkos. A tool that the user named, in the environment or on the
// command line, takes precedence; Kokkos reports two tools as an error.
void add_region_tool(std::vector<std::string>& variables, const std::string& library,
                     const std::vector<std::string>& command) {
  const auto is_unset = [](const char* name) { return environment(name).empty(); };
  const auto names_tool = [](const std::string& word) { return word.starts_with("--kokkos-tools-lib"); };
  if (is_unset("NVTX_INJECTION64_PATH")) variables.push_back("NVTX_INJECTION64_PATH=" + library);
  // Kokkos before 3.7 reads the second name.
  if (is_unset("KOKKOS_TOOLS_LIBS") && is_unset("KOKKOS_PROFILE_LIBRARY") &&
      std::none_of(command.begin(), command.end(), names_tool))
    for (const char* const name : {"KOKKOS_TOOLS_LIBS=", "KOKKOS_PROFILE_LIBRARY="})
      variables.push_back(name + library);
}

}  // namespace

std::vector<std::string> program_environment(const std::filesystem::path& session, runtime::Backend backend,
                                             const std::vector<std::string>& command,
                                             const PreloadedParts& parts) {
  // An instrumented process switches to the other library itself.
  const auto library = library_path(parts.hooks);
  const auto preload = environment("LD_PRELOAD");
  const auto checks = environment("ASAN_OPTIONS");
  std::vector<std::string> variables{
      fmt::format("{}={}", runtime::k_session_variable, session.string()),
      fmt::format("LD_PRELOAD={}{}{}{}", library, parts.mpi ? ":" + mpi_library_path() : "",
                  preload.empty() ? "" : ":", preload),
      // UCX's memory hooks replace mmap and would hide the program's mappings from an interposer.
      "UCX_MEM_MMAP_HOOK_MODE=none",
      // Programs with the address sanitizer that this one starts would abort, as its library is not first.
      fmt::format("ASAN_OPTIONS={}{}verify_asan_link_order=0", checks, checks.empty() ? "" : ":")};
  add_region_tool(variables, library, command);
  // In virtual time one thread runs at a time: idle workers that spin would take the core from it.
  if (backend == runtime::Backend::virtual_time && environment("OMP_WAIT_POLICY").empty())
    variables.emplace_back("OMP_WAIT_POLICY=passive");
  return variables;
}

}  // namespace terrace::cli
