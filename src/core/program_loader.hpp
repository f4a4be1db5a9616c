// Finds out whether a program file will be loaded by a dynamic linker that can load this build's libraries, before
// the kernel starts it: a library that LD_PRELOAD names ends a program of another C library (musl) at its first
// instruction, and makes a linker of another word size complain. The interpreter that the file names (PT_INTERP,
// elf(5)) decides; of a script, that of the interpreter in its first line (execve(2)).
//
// Async-signal-safe: neither allocates nor takes a lock, for children of vfork(2). errno stays.
#pragma once

namespace terrace {

class ProgramLoader {
 public:
  // Reads the program behind a file descriptor, or a path. What cannot be read counts as loadable.
  explicit ProgramLoader(int file) noexcept;
  explicit ProgramLoader(const char* path) noexcept;

  // Whether a library of this build can be loaded into the program. True for statically linked ones, too: they
  // have no linker that could fail.
  [[nodiscard]] bool can_load() const noexcept { return why_[0] == '\0'; }
  // Returns why it cannot, as "it uses another C library (/lib/ld-musl-x86_64.so.1)"; "" where it can.
  [[nodiscard]] const char* why_not() const noexcept { return why_; }

 private:
  void read(int file, const char* path, int scripts) noexcept;
  void open_and_read(const char* path, int scripts) noexcept;
  void refuse(const char* reason, const char* interpreter) noexcept;

  char why_[320] = "";
};

// Looks for a program where execvp(3) would find it: `name` itself where it has a slash, else the first file that
// may be run in the folders of `search`, the value of PATH (null: the usual one). Returns false if there is none,
// or its path does not fit into `path`.
bool find_program(const char* name, const char* search, char* path, unsigned long size) noexcept;

}  // namespace terrace
