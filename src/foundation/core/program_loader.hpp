// SPDX-License-Identifier: Apache-2.0
// Determines, before the kernel starts a program, whether the program's dynamic linker can load this
// build's libraries. With LD_PRELOAD set, a program of another C library (musl) ends at start-up, and a
// linker of another word size complains. Refused are programs of another machine or word size, of another C
// library, and of a glibc older than this build's. The ELF interpreter decides (PT_INTERP, elf(5)); for a
// script, that of the program in its first line (execve(2)). The agent asks before a program starts a child.
//
// Async-signal-safe, for children of vfork(2): neither allocates nor locks. Preserves errno.
#pragma once

namespace terrace {

class ProgramLoader {
 public:
  // Reads the program behind a file descriptor, or a path. What cannot be read counts as loadable.
  explicit ProgramLoader(int file) noexcept;
  explicit ProgramLoader(const char* path) noexcept;

  // Returns whether this build's libraries can be loaded into the program. Also true for static programs, which
  // have no dynamic linker.
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
