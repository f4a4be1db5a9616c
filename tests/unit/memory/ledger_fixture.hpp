// A ledger page shared with forked children, and helpers to run children.
#pragma once

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <new>

#include "core/error.hpp"
#include "memory/ledger.hpp"

namespace terrace::memory {

struct SharedPage {
  SharedPage() {
    void* map = ::mmap(nullptr, sizeof(LedgerPage), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED) throw Error(Code::no_memory, "no shared memory for the test");
    page = new (map) LedgerPage{};
  }
  ~SharedPage() { ::munmap(page, sizeof(LedgerPage)); }
  SharedPage(const SharedPage&) = delete;
  SharedPage& operator=(const SharedPage&) = delete;
  LedgerPage* page;
};

// Runs `body` in a child and returns its exit status.
template <class Body>
int in_child(Body body) {
  const auto child = ::fork();
  if (child == 0) ::_exit(body());
  int status = -1;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace terrace::memory
