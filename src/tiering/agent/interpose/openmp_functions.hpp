// SPDX-License-Identifier: Apache-2.0
// Finds the functions of the OpenMP run-time library (libgomp or a compatible one) to which a caller is bound. A
// process may contain several copies: each Python package ships and loads its own. Used by the interposed OpenMP
// functions (waits_openmp.cpp, waits_sections.cpp).
#pragma once

#include <array>
#include <cstdint>

#include "agent/linking/caller_functions.hpp"

namespace terrace::agent {

// Lists the functions that the wrappers of the library forward to or need.
inline constexpr std::array k_openmp_names{
    "GOMP_atomic_end",
    "GOMP_atomic_start",
    "GOMP_barrier",
    "GOMP_critical_end",
    "GOMP_critical_name_end",
    "GOMP_critical_name_start",
    "GOMP_critical_start",
    "GOMP_loop_dynamic_next",
    "GOMP_loop_end",
    "GOMP_loop_end_nowait",
    "GOMP_loop_guided_next",
    "GOMP_loop_maybe_nonmonotonic_runtime_next",
    "GOMP_loop_nonmonotonic_dynamic_next",
    "GOMP_loop_nonmonotonic_guided_next",
    "GOMP_loop_nonmonotonic_runtime_next",
    "GOMP_loop_runtime_next",
    "GOMP_loop_static_next",
    "GOMP_loop_ull_dynamic_next",
    "GOMP_loop_ull_guided_next",
    "GOMP_loop_ull_maybe_nonmonotonic_runtime_next",
    "GOMP_loop_ull_nonmonotonic_dynamic_next",
    "GOMP_loop_ull_nonmonotonic_guided_next",
    "GOMP_loop_ull_nonmonotonic_runtime_next",
    "GOMP_loop_ull_runtime_next",
    "GOMP_loop_ull_static_next",
    "GOMP_ordered_start",
    "GOMP_parallel",
    "GOMP_parallel_loop_dynamic",
    "GOMP_parallel_loop_guided",
    "GOMP_parallel_loop_maybe_nonmonotonic_runtime",
    "GOMP_parallel_loop_nonmonotonic_dynamic",
    "GOMP_parallel_loop_nonmonotonic_guided",
    "GOMP_parallel_loop_nonmonotonic_runtime",
    "GOMP_parallel_loop_runtime",
    "GOMP_parallel_loop_static",
    "GOMP_parallel_reductions",
    "GOMP_parallel_sections",
    "GOMP_sections_end",
    "GOMP_sections_end_nowait",
    "GOMP_sections_next",
    "GOMP_single_copy_end",
    "GOMP_single_copy_start",
    "GOMP_single_start",
    "GOMP_task",
    "GOMP_taskloop",
    "GOMP_taskloop_ull",
    "omp_get_num_threads",
    "omp_get_thread_num",
    "omp_set_lock",
    "omp_set_lock_",
    "omp_set_nest_lock",
    "omp_set_nest_lock_",
    "omp_test_lock",
    "omp_test_lock_",
    "omp_test_nest_lock",
    "omp_test_nest_lock_",
    "omp_unset_lock",
    "omp_unset_lock_",
    "omp_unset_nest_lock",
    "omp_unset_nest_lock_",
};

class OpenMp {
 public:
  using Name = ListedName<k_openmp_names>;

  constexpr OpenMp() = default;  // bound to no caller; to be assigned
  // `caller`: an address in the calling code. For a parallel region or a task, pass the address of its outlined
  // function: the return address belongs to another function if the call is a tail call.
  explicit OpenMp(const void* caller) noexcept;

  // Never returns null. If no library defines the function, calling it ends the program as the dynamic linker
  // would.
  template <class Function>
  [[nodiscard]] Function function(Name name) const noexcept {
    return reinterpret_cast<Function>(find(name));
  }
  [[nodiscard]] bool is_same_copy(const OpenMp& other) const noexcept {
    return table_ == other.table_ || find("GOMP_barrier") == other.find("GOMP_barrier");
  }
  // Return the keys of one copy's unnamed critical sections, and of its atomic updates.
  [[nodiscard]] std::uint64_t unnamed_section() const noexcept { return address("GOMP_critical_start"); }
  [[nodiscard]] std::uint64_t atomic_section() const noexcept { return address("GOMP_atomic_start"); }

 private:
  [[nodiscard]] void* find(Name name) const noexcept;
  [[nodiscard]] std::uint64_t address(Name name) const noexcept {
    return reinterpret_cast<std::uint64_t>(find(name));
  }

  const CallerFunctions::Table* table_ = nullptr;
};

}  // namespace terrace::agent
