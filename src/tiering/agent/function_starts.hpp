// Where the functions begin that the program spends its time in.
#pragma once

#include <cstdint>
#include <map>

namespace terrace::agent {

struct Process;

// By the symbol files, or else by what a library exports: a distribution's program may have all of its code in a
// library among the system's, which nobody has described. Run-time libraries (libc and its like) are left out:
// what they do, they do for their caller.
class FunctionStarts {
 public:
  explicit FunctionStarts(Process& process) : process_(process) {}

  // 0: it is not known. May take the dynamic linker's lock. Throws std::bad_alloc.
  std::uint64_t find(std::uint64_t address);

 private:
  std::uint64_t find_exported(std::uint64_t address);

  Process& process_;
  std::map<std::uint64_t, std::uint64_t> exported_;  // begin -> end: looking one up goes through a library's table
};

}  // namespace terrace::agent
