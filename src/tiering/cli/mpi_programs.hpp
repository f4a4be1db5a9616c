// SPDX-License-Identifier: Apache-2.0
// Recognises commands that run MPI programs, for the launcher: only these load the library that interposes MPI
// (agent/mpi/call_events.hpp). Others do not, because some libraries test by weak references whether the process
// has MPI.
#pragma once

#include <string>
#include <vector>

namespace terrace::cli {

// Returns whether the word names a launcher of MPI jobs: "mpirun", "/usr/bin/mpiexec.hydra", "srun".
bool is_mpi_launcher(const std::string& word);

// Returns whether the command starts MPI processes (`mpirun -n 4 ./app`), is one of a job (a launcher has set its
// rank in the environment), or is linked with MPI.
bool uses_mpi(const std::vector<std::string>& command);

// Returns a sentence if a program of the job contains the MPI library itself, so that no interposer sees its
// calls; "" if not. `symbol_files`: of the command's programs and their libraries.
std::string describe_static_mpi(const std::vector<std::string>& command,
                                const std::vector<std::string>& symbol_files);

}  // namespace terrace::cli
