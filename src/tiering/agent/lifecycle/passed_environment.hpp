// SPDX-License-Identifier: Apache-2.0
// Completes the environment of a program that this process executes, so that it runs under Terrace, too, whatever
// environment it is given. Called by the interposed exec and posix_spawn (leaving.cpp).
//
// May run in a child of vfork(2), in its parent's memory: must not allocate or take locks.
#pragma once

#include <cstddef>

#include "core/program_loader.hpp"

namespace terrace::agent {

// Returns the number of bytes that passed_environment() needs.
std::size_t passed_environment_size(char* const* environment) noexcept;
// Returns the environment with Terrace's missing variables appended. If the library's path no longer resolves
// (another root directory), or the program cannot load it, removes it from LD_PRELOAD and similar lists: the
// dynamic linker would print an error or end the program. `room` has passed_environment_size(environment) bytes,
// aligned for pointers.
char* const* passed_environment(char* const* environment, const ProgramLoader& program, char* room) noexcept;

// Writes a note for the launcher if the program to be executed cannot load the library.
void note_unobserved(const char* path, const ProgramLoader& program) noexcept;

}  // namespace terrace::agent
