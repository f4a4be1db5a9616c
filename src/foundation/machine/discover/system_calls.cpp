// SPDX-License-Identifier: Apache-2.0
// Tries system calls on the running system for `terrace machine check`. See system_calls.hpp.
#include "machine/discover/system_calls.hpp"

#include <linux/mempolicy.h>
#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <vector>

#include "core/userfault_file.hpp"

namespace terrace::machine {
namespace {

// A page of its own mapping, so that no other data are affected by a policy or a migration.
class ScratchPage {
 public:
  ScratchPage() : size_(static_cast<std::size_t>(::sysconf(_SC_PAGESIZE))) {
    page_ = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  }
  ~ScratchPage() {
    if (page_ != MAP_FAILED) ::munmap(page_, size_);
  }
  ScratchPage(const ScratchPage&) = delete;
  ScratchPage& operator=(const ScratchPage&) = delete;
  [[nodiscard]] bool there() const { return page_ != MAP_FAILED; }
  [[nodiscard]] void* get() const { return page_; }
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  std::size_t size_;
  void* page_;
};

int try_userfault(std::uint64_t features) {
  const int file = open_userfault(features);
  if (file < 0) return -file;
  ::close(file);
  return 0;
}

class ThisSystem : public SystemCalls {
 public:
  int try_prefer_node(int node) override {
    const ScratchPage page;
    if (!page.there()) return errno;
    constexpr std::size_t k_bits = 8 * sizeof(unsigned long);
    std::vector<unsigned long> mask(static_cast<std::size_t>(node) / k_bits + 1);
    mask.back() = 1ul << (static_cast<std::size_t>(node) % k_bits);
    // The kernel uses one bit less than maxnode.
    const auto answer =
        ::syscall(SYS_mbind, page.get(), page.size(), MPOL_PREFERRED, mask.data(), mask.size() * k_bits + 1, 0);
    return answer == 0 ? 0 : errno;
  }

  int try_move_page(int node) override {
    const ScratchPage page;
    if (!page.there()) return errno;
    *static_cast<volatile char*>(page.get()) = 1;  // an absent page cannot be moved
    void* address = page.get();
    int status = -1;
    if (::syscall(SYS_move_pages, 0, 1ul, &address, &node, &status, MPOL_MF_MOVE) < 0) return errno;
    if (status < 0) return -status;
    return status == node ? 0 : EBUSY;
  }

  int try_exchange_pages() override { return try_userfault(k_userfault_move); }

  int try_trap_faults() override {
    return try_userfault(k_userfault_move | k_userfault_thread | k_userfault_remap);
  }

  int try_count_misses() override {
    perf_event_attr event{};
    event.type = PERF_TYPE_HARDWARE;
    event.size = sizeof event;
    event.config = PERF_COUNT_HW_CACHE_MISSES;
    event.disabled = 1;
    event.exclude_kernel = 1;
    event.exclude_hv = 1;
    const auto counter = ::syscall(SYS_perf_event_open, &event, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (counter < 0) return errno;
    ::close(static_cast<int>(counter));
    return 0;
  }

  std::optional<Bytes> free_space(const std::string& folder) override {
    struct statvfs about {};
    if (::access(folder.c_str(), W_OK | X_OK) != 0 || ::statvfs(folder.c_str(), &about) != 0) return std::nullopt;
    return Bytes{std::uint64_t{about.f_bavail} * about.f_frsize};
  }

  std::optional<Bytes> locked_memory_limit() override {
    rlimit limit{};
    if (::getrlimit(RLIMIT_MEMLOCK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
    return Bytes{limit.rlim_cur};
  }
};

}  // namespace

SystemCalls& this_system() {
  static ThisSystem system;
  return system;
}

}  // namespace terrace::machine
