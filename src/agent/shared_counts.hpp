// What a process counts, in a file that the launcher reads when the process has ended.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <new>
#include <string>

namespace terrace::agent {

// In the session's directory: the prefix and the process's number. Null, and errno says why, where the file cannot
// be made. Lives as long as the process.
template <class Counts>
Counts* make_counts(const std::string& directory, const char* prefix) {
  const auto name = directory + "/" + prefix + std::to_string(getpid());
  const int file = open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  void* page = MAP_FAILED;
  if (file >= 0 && ftruncate(file, sizeof(Counts)) == 0)
    page = mmap(nullptr, sizeof(Counts), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  const int problem = errno;
  if (file >= 0) syscall(SYS_close, file);
  errno = problem;
  return page == MAP_FAILED ? nullptr : new (page) Counts;
}

}  // namespace terrace::agent
