// The environment of a program that is started from here: that program is under Terrace, too, whatever environment
// it is given, where it can be.
//
// All of this may run in a child of vfork, in its parent's memory: nothing here allocates or takes a lock.
#pragma once

#include <cstddef>

#include "core/program_loader.hpp"

namespace terrace::agent {

// What passed_environment() needs.
std::size_t passed_environment_size(char* const* environment) noexcept;
// The environment with what is missing in it appended. Where the library is not to be found by its name any more,
// as in another root, or where the program cannot load it, what names it is left out: the dynamic linker would
// complain of it, or end the program. `room` has passed_environment_size(environment) bytes, aligned for pointers.
char* const* passed_environment(char* const* environment, const ProgramLoader& program, char* room) noexcept;

// Notes for the launcher that the program to be executed cannot load the library. Does nothing if it can.
void note_unobserved(const char* path, const ProgramLoader& program) noexcept;

}  // namespace terrace::agent
