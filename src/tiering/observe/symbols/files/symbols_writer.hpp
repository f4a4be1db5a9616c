// Outside the user's process: finds out what a program's functions, source lines and static variables are called,
// and writes it down for the library inside (symbol_file.hpp). Uses libelf and libdw.
#pragma once

#include <string>
#include <vector>

namespace terrace::observe {

// The folder in which symbol files are kept: $XDG_CACHE_HOME/terrace, ~/.cache/terrace, or one in $TMPDIR of our
// own.
std::string symbol_cache();

// Writes the symbol file of one ELF file into the folder `cache`, unless it is there already, and returns its
// path; "" when the file is no ELF file of this machine, or there is nothing to write it with.
std::string write_symbol_file(const std::string& module, const std::string& cache);

// Writes the symbol files of the executables among a command's words (`mpirun -n 4 ./app` has two) and of the
// libraries that they are linked with, system libraries excepted.
std::vector<std::string> write_symbol_files(const std::vector<std::string>& words, const std::string& cache);

// The library of a sanitizer that a program is linked with, which has the program's memory and threads to itself;
// "" where there is none. The program is a command's first word.
std::string sanitizer_of(const std::string& program);

// Returns why a program, a command's first word, cannot load this build's libraries and may not be given any: it
// uses another C library, or is of another machine (core/program_loader.hpp). "" where it can.
std::string why_not_loadable(const std::string& program);

// Returns why a program, a command's first word, never loads a library that the environment names (LD_PRELOAD): it
// cannot, is statically linked, or runs with another's rights (ld.so(8), "secure-execution mode"). "" where it
// does.
std::string why_not_loaded(const std::string& program);

// Whether the program, a command's first word, is valgrind, which runs another one on a processor of its own
// making.
bool is_valgrind(const std::string& program);

}  // namespace terrace::observe
