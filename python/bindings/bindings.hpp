// SPDX-License-Identifier: Apache-2.0
// Declares the parts of the Python module terrace._core, one function per file, which module.cpp calls.
#pragma once

#include <nanobind/nanobind.h>

#include <span>
#include <string>

#include "model/problem.hpp"

namespace terrace::python {

void bind_machine(nanobind::module_& module);
void bind_store(nanobind::module_& module);
void bind_problem(nanobind::module_& module);
void bind_hints(nanobind::module_& module);
void bind_mpi_objects(nanobind::module_& module);
void bind_ranks(nanobind::module_& module);
void bind_plan(nanobind::module_& module);
void bind_confidence(nanobind::module_& module);
void bind_trace(nanobind::module_& module);
void bind_gpu(nanobind::module_& module);
void bind_gpu_camat(nanobind::module_& module);
void bind_gpu_policies(nanobind::module_& module);
void bind_stencils(nanobind::module_& module);
void bind_pim(nanobind::module_& module);
void bind_profile_writer(nanobind::module_& module);
void bind_program_sites(nanobind::module_& module);

// Parses the result of json.loads(Problem.to_json()). Throws Error{invalid} if it is malformed.
model::Problem problem_from_dump(const nanobind::dict& dump);

inline std::span<const std::byte> bytes_of(const nanobind::bytes& bytes) {
  return {static_cast<const std::byte*>(bytes.data()), bytes.size()};
}

}  // namespace terrace::python
