// SPDX-License-Identifier: Apache-2.0
// Recognises MPI commands by name, environment and linked libraries. See mpi_programs.hpp.
#include "cli/mpi_programs.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>

#include "cli/journal_folder.hpp"
#include "observe/symbols/files/symbols_writer.hpp"
#include "observe/symbols/symbols.hpp"

namespace terrace::cli {

namespace {

// Commands that start the processes of an MPI job.
constexpr std::array<std::string_view, 10> k_launchers{"mpirun", "mpiexec", "orterun", "prterun", "prun",
                                                       "srun",   "aprun",   "jsrun",   "ibrun",   "flux"};

// Set by launchers for each process: MPICH (PMI), PMIx, Open MPI, Slurm.
constexpr std::array k_ranks{"PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID"};

}  // namespace

// Implementations append their names: mpirun.openmpi, mpiexec.hydra.
bool is_mpi_launcher(const std::string& word) {
  const auto name = std::filesystem::path(word).filename().string();
  return std::ranges::find(k_launchers, std::string_view(name).substr(0, name.find('.'))) != k_launchers.end();
}

bool uses_mpi(const std::vector<std::string>& command) {
  return is_mpi_launcher(command.front()) ||
         std::ranges::any_of(k_ranks, [](const char* name) { return !environment(name).empty(); }) ||
         observe::is_linked_with_mpi(command.front());
}

std::string describe_static_mpi(const std::vector<std::string>& command,
                                const std::vector<std::string>& symbol_files) {
  // Symbol files may include those of the shared library.
  if (std::ranges::any_of(command, [](const auto& word) { return observe::is_linked_with_mpi(word); })) return {};
  observe::SymbolTable table;
  for (const auto& file : symbol_files) table.add_file(file.c_str());
  const auto names = table.function_names();
  if (!names.contains("MPI_Init") && !names.contains("PMPI_Init")) return {};
  return "the program contains its MPI library (statically linked), so Terrace does not see its MPI calls; link "
         "it with "
         "the shared library";
}

}  // namespace terrace::cli
