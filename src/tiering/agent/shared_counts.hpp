// SPDX-License-Identifier: Apache-2.0
// Makes a structure of counters in a file that the launcher reads after the process has ended.
#pragma once

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <new>
#include <string>

#include "core/errno_scope.hpp"
#include "core/shared_mapping.hpp"

namespace terrace::agent {

// Maps the file "PREFIX<pid>" in the session's directory. Returns null with errno set if it cannot be made. The
// mapping lives as long as the process.
template <class Counts>
Counts* make_counts(const std::string& directory, const char* prefix) {
  const auto name = directory + "/" + prefix + std::to_string(getpid());
  const int file = open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  void* const page = file < 0 ? nullptr : map_shared(file, sizeof(Counts));
  const ErrnoScope errno_scope;
  if (file >= 0) syscall(SYS_close, file);
  return page ? new (page) Counts : nullptr;
}

}  // namespace terrace::agent
