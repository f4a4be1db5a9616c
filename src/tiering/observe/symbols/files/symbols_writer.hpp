// SPDX-License-Identifier: Apache-2.0
// Writes symbol files (symbol_file.hpp): reads functions, source lines, static variables and code of programs and
// libraries by libelf, libdw and Capstone. For the launcher, not for use in the user's process.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace terrace::observe {

// Returns the folder of symbol files: $XDG_CACHE_HOME/terrace, ~/.cache/terrace, or a private one in $TMPDIR.
std::string symbol_cache();

// Writes the symbol file of an ELF file into the folder `cache`, unless it exists already, and returns its path;
// "" where the file is no ELF file of this machine, or it cannot be written.
std::string write_symbol_file(const std::string& module, const std::string& cache);

// Writes the symbol files of the executables among a command's words and of the libraries that they are linked
// with, system libraries excepted. The first `num_programs` words are searched as the shell does, others only as
// files.
std::vector<std::string> write_symbol_files(const std::vector<std::string>& words, const std::string& cache,
                                            std::size_t num_programs = 1);

// Returns the sanitizer's library that a program, a command's first word, is linked with, or "". A sanitizer needs
// sole control of the program's memory and threads.
std::string sanitizer_of(const std::string& program);

// Returns whether a program, a command's first word, is linked with an MPI library itself.
bool is_linked_with_mpi(const std::string& program);

// Returns why a program, a command's first word, cannot load this build's libraries and may not be given any: it
// uses another C library, or is of another machine (core/program_loader.hpp). "" where it can.
std::string why_not_loadable(const std::string& program);

// Returns why a program, a command's first word, never loads a library that the environment names (LD_PRELOAD): it
// cannot, is statically linked, or runs with another's rights (ld.so(8), "secure-execution mode"). "" where it
// does.
std::string why_not_loaded(const std::string& program);

// Returns whether the program, a command's first word, is valgrind, which emulates another program.
bool is_valgrind(const std::string& program);

}  // namespace terrace::observe
