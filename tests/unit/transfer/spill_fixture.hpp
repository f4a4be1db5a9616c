// Fixture for tests of out-of-core memory.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "core/error.hpp"
#include "core/rounding.hpp"
#include "memory/region_space.hpp"
#include "strategy/spill/belady_policy.hpp"
#include "transfer/spill/spill.hpp"

namespace terrace::transfer {

constexpr std::size_t k_chunk = Spill::k_chunk;
constexpr std::size_t k_words = k_chunk / sizeof(std::uint64_t);

// Messages to the user, written by the pager thread.
inline std::mutex g_saying;
inline std::string g_said;

inline std::string said() {
  const std::lock_guard lock(g_saying);
  return g_said;
}

inline void say(const char* sentence) {
  const std::lock_guard lock(g_saying);
  g_said += std::string(sentence) + "\n";
}

inline Bytes resident_bytes() {
  std::uint64_t size = 0;
  std::uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> size >> pages;
  return Bytes{pages * k_page};
}

// Returns the limit for the process's current memory plus `chunks` chunks.
inline Bytes memory_with(std::size_t chunks) {
  return Bytes{resident_bytes().value + (8ULL << 20) + chunks * k_chunk};
}

// Time limit of waits that depend on the disk's speed: many times the need of a busy machine.
inline constexpr std::chrono::seconds k_deadline{100};

// Out-of-core memory of `chunks` chunks, with about 20 resident, or `memory` bytes for the whole process. A
// handover to the kernel has no time limit, so that results do not depend on the disk; the kernel keeps a block
// for `first_period_ns`.
class Spilled {
 public:
  explicit Spilled(std::size_t chunks, bool ring = true, const std::string& folder = "/var/tmp", Bytes memory = {},
                   std::uint64_t first_period_ns = Spill::k_no_limit)
      : space_(Bytes{(chunks + 32) * k_chunk}, Bytes{k_chunk}) {
    g_said.clear();
    Spill::Parts parts;
    parts.base = space_.base();
    parts.size = space_.reserved().value;
    parts.memory = memory.value > 0 ? memory : memory_with(20);
    parts.folder = folder;
    parts.counts = &counts_;
    parts.make_policy = []() -> std::unique_ptr<ReplacementPolicy> {
      return std::make_unique<strategy::BeladyPolicy>();
    };
    parts.say = say;
    parts.ring = ring;
    parts.handover_limit_ns = Spill::k_no_limit;
    parts.first_period_ns = first_period_ns;
    spill_.emplace(parts);
  }
  std::uint64_t* allocate(std::size_t chunks) {
    auto* const block = static_cast<std::uint64_t*>(space_.allocate(chunks * k_chunk));
    spill_->reserve(reinterpret_cast<std::uint64_t>(block), chunks * k_chunk);
    return block;
  }
  void release(std::uint64_t* block) {
    spill_->release(reinterpret_cast<std::uint64_t>(block), space_.find(block).size);
    EXPECT_GT(space_.release(block), 0U);
  }
  SpillCounts& counts() { return counts_; }
  Spill& spill() { return *spill_; }

 private:
  memory::RegionSpace space_;
  SpillCounts counts_{};
  std::optional<Spill> spill_;
};

// Emulates a full disk: limits the size of files to `chunks` chunks (RLIMIT_FSIZE) during its lifetime.
class SmallFiles {
 public:
  explicit SmallFiles(std::size_t chunks) : before_(signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &limit_);
    const rlimit little{chunks * k_chunk, limit_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &little);
  }
  ~SmallFiles() {
    setrlimit(RLIMIT_FSIZE, &limit_);
    signal(SIGXFSZ, before_);
  }
  SmallFiles(const SmallFiles&) = delete;
  SmallFiles& operator=(const SmallFiles&) = delete;

 private:
  void (*before_)(int);
  rlimit limit_{};
};

// Sanitizers allocate growing memory of their own, which invalidates exact limits.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool k_knows_memory = false;
#else
inline constexpr bool k_knows_memory = true;
#endif

// Returns why out-of-core memory is not available; "" if it is. Root must have it from Linux 6.8 on.
inline std::string why_not() {
  try {
    const Spilled one(4);
    return "";
  } catch (const Error& error) {
    utsname system{};
    int major = 0;
    int minor = 0;
    uname(&system);
    std::sscanf(system.release, "%d.%d", &major, &minor);
    const bool has_to = geteuid() == 0 && (major > 6 || (major == 6 && minor >= 8));
    return (has_to ? "fails: " : "lacks: ") + std::string(error.what());
  }
}

class SpillTest : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    const auto reason = why_not();
    ASSERT_FALSE(reason.starts_with("fails")) << reason;
    if (!reason.empty()) GTEST_SKIP() << reason;
  }
};

inline std::uint64_t value(std::size_t at, std::uint64_t round) { return at * 0x9e3779b97f4a7c15 + round; }

}  // namespace terrace::transfer
