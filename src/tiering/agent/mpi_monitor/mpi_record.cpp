// SPDX-License-Identifier: Apache-2.0
// Writes what is known of the program's MPI calls and of the MPI library's memory to the journal. Called at the
// end of the program.
#include <exception>

#include "agent/lifecycle/process.hpp"
#include "agent/mpi_monitor/mpi_statistics.hpp"
#include "agent/mpi_objects/mpi_object_placer.hpp"
#include "profile/records.hpp"
#include "runtime/runtime.hpp"

namespace terrace::agent {

void finish_mpi(Process& process) noexcept {
  try {
    auto record = mpi_statistics().record();
    if (process.mpi_objects) record.objects = process.mpi_objects->finish();
    if (!record.functions.empty()) process.runtime->on_mpi_statistics(record);
  } catch (const std::exception&) {  // no memory: the profile has no statistics
  }
}

}  // namespace terrace::agent
