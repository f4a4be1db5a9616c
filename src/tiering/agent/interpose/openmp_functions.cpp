// SPDX-License-Identifier: Apache-2.0
// Finds, for a calling file, the OpenMP functions that the wrappers in waits_openmp.cpp and waits_sections.cpp
// forward to. See openmp_functions.hpp.
#include "agent/interpose/openmp_functions.hpp"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include <atomic>
#include <utility>

namespace terrace::agent {

namespace {

constinit std::array<std::atomic<void*>, k_openmp_names.size()> g_openmp_without_table{};
constinit CallerFunctions g_openmp{k_openmp_names, g_openmp_without_table};

// Ends the process with the dynamic linker's message and status for an undefined function that is called.
[[noreturn]] void end_unbound(const char* name) {
  dprintf(STDERR_FILENO, "%s: symbol lookup error: undefined symbol: %s\n", program_invocation_name, name);
  _exit(127);
}

template <std::size_t Number>
[[noreturn]] void unbound() {
  end_unbound(k_openmp_names[Number]);
}

template <std::size_t... Number>
constexpr auto make_unbound(std::index_sequence<Number...>) {
  return std::array<void (*)(), sizeof...(Number)>{unbound<Number>...};
}

constexpr auto k_unbound = make_unbound(std::make_index_sequence<k_openmp_names.size()>());

}  // namespace

OpenMp::OpenMp(const void* caller) noexcept : table_(&g_openmp.table_for(caller)) {}

void* OpenMp::find(Name name) const noexcept {
  void* const function = table_->find(name.number());
  return function ? function : reinterpret_cast<void*>(k_unbound[name.number()]);
}

}  // namespace terrace::agent
