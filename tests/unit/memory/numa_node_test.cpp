// Tests the wrappers of NUMA system calls against /proc/self/numa_maps, smaps and kpageflags. One node suffices;
// tests/guest has two.
#include "memory/numa_node.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <fstream>
#include <functional>
#include <sstream>

#include "support/real_memory.hpp"

namespace terrace::memory {
namespace {

using tests::Mapping;

// Returns the line of numa_maps for the mapping that begins at `address`, or "".
std::string numa_maps(std::uint64_t address) {
  std::ostringstream wanted;
  wanted << std::hex << address << ' ';
  std::ifstream maps("/proc/self/numa_maps");
  for (std::string line; std::getline(maps, line);) {
    const auto first = line.find_first_not_of('0');
    if (line.substr(first).starts_with(wanted.str())) return line;
  }
  return "";
}

// Returns the flags of the page at `address` from /proc/kpageflags, or nothing without the privilege.
std::optional<std::uint64_t> page_flags(std::uint64_t address) {
  const auto read_word = [](const char* path, std::uint64_t index) -> std::optional<std::uint64_t> {
    const int file = ::open(path, O_RDONLY);
    std::uint64_t word = 0;
    const bool whole = file >= 0 && ::pread(file, &word, 8, static_cast<off_t>(index * 8)) == 8;
    if (file >= 0) ::close(file);
    return whole ? std::optional(word) : std::nullopt;
  };
  const auto entry = read_word("/proc/self/pagemap", address / k_page);
  const auto frame = entry.value_or(0) & ((1ULL << 55) - 1);
  return frame == 0 ? std::nullopt : read_word("/proc/kpageflags", frame);
}

constexpr std::uint64_t k_flag_huge = 1ULL << 22;  // KPF_THP

TEST(NumaNode, QueryPages_DistinguishesAbsentPages) {
  const Mapping map(8 * k_page);
  map.touch(0, 2);
  volatile unsigned char zero = *map.page(3);  // read only: the shared zero page
  (void)zero;
  std::vector<int> nodes(8, 99);
  ASSERT_EQ(query_pages(map.address(), nodes), 0);
  EXPECT_GE(nodes[0], 0);
  EXPECT_GE(nodes[1], 0);
  for (const std::size_t absent : {2, 3, 4, 7})
    EXPECT_TRUE(is_absent(nodes[absent])) << absent << ": " << nodes[absent];
  EXPECT_EQ(nodes, tests::kernel_nodes(map.address(), 8));
}

TEST(NumaNode, HasPagesOffNode_ResidentPages) {
  const Mapping map(8 * k_page);
  map.touch(0, 2);
  const auto here = tests::kernel_nodes(map.address(), 1).front();
  EXPECT_FALSE(has_pages_off_node(map.address(), 8 * k_page, here));
  EXPECT_TRUE(has_pages_off_node(map.address(), 8 * k_page, here + 1));
  EXPECT_TRUE(has_pages_off_node(map.address(1), k_page, here + 1));
  EXPECT_FALSE(has_pages_off_node(map.address(4), 4 * k_page, here + 1));  // never touched
  // Part of the range is not mapped, as with a stack that has not grown yet.
  ASSERT_EQ(munmap(map.page(4), 4 * k_page), 0);
  EXPECT_FALSE(has_pages_off_node(map.address(), 8 * k_page, here));
  EXPECT_TRUE(has_pages_off_node(map.address(), 8 * k_page, here + 1));
}

TEST(NumaNode, HasPagesOffNode_SeveralBatches) {
  constexpr std::size_t k_pages = 3 * k_page_batch + 17;
  const Mapping map(k_pages * k_page);
  constexpr int k_no_node = 1023;
  EXPECT_FALSE(has_pages_off_node(map.address(), k_pages * k_page, k_no_node));
  map.touch(k_pages - 1, 1);
  EXPECT_TRUE(has_pages_off_node(map.address(), k_pages * k_page, k_no_node));
  EXPECT_FALSE(has_pages_off_node(map.address(), (k_pages - 1) * k_page, k_no_node));
  std::vector<int> nodes(k_pages, 99);
  ASSERT_EQ(query_pages(map.address(), nodes), 0);
  EXPECT_EQ(std::count_if(nodes.begin(), nodes.end(), [](int node) { return node >= 0; }), 1);
  EXPECT_GE(nodes.back(), 0);
}

TEST(NumaNode, PreferNode_SetsPolicyOfRangeOnly) {
  const Mapping map(64 * k_page);
  map.touch(0, 64);
  ASSERT_EQ(prefer_node(map.address(16), 32 * k_page, 0), 0);
  EXPECT_NE(numa_maps(map.address(16)).find("prefer:0"), std::string::npos) << numa_maps(map.address(16));
  EXPECT_NE(numa_maps(map.address(48)).find("default"), std::string::npos) << numa_maps(map.address(48));
  ASSERT_EQ(reset_policy(map.address(16), 32 * k_page), 0);
  EXPECT_EQ(numa_maps(map.address(16)).find("prefer"), std::string::npos);
}

TEST(NumaNode, UnknownNode_IsRefused) {
  const Mapping map(4 * k_page);
  map.touch(0, 4);
  EXPECT_EQ(prefer_node(map.address(), 4 * k_page, -1), EINVAL);
  EXPECT_EQ(prefer_node(map.address(), 4 * k_page, 1 << 20), EINVAL);
  EXPECT_EQ(prefer_node(map.address(), 4 * k_page, 1000), EINVAL) << "no machine of ours has a node 1000";
  const auto before = tests::kernel_nodes(map.address(), 4);
  std::vector<void*> pages;
  for (std::size_t i = 0; i < 4; ++i) pages.push_back(map.page(i));
  std::vector<int> where(4, 99);
  EXPECT_EQ(move_pages_to(pages, 1000, where), ENODEV);
  EXPECT_EQ(where, before) << "reports where the pages are, moved or not";
  std::vector<void*> many(k_page_batch + 1, map.page(0));
  std::vector<int> answers(many.size());
  EXPECT_EQ(move_pages_to(many, 0, answers), EINVAL);
}

TEST(NumaNode, MovePagesTo_SkipsAbsentPages) {
  const Mapping map(8 * k_page);
  map.touch(2, 3);
  const auto node = tests::kernel_nodes(map.address(2), 1).front();
  std::vector<void*> pages;
  for (std::size_t i = 0; i < 8; ++i) pages.push_back(map.page(i));
  std::vector<int> where(8, 99);
  EXPECT_EQ(move_pages_to(pages, node, where), 0);
  EXPECT_EQ(where, tests::kernel_nodes(map.address(), 8));
  EXPECT_EQ(std::count(where.begin(), where.end(), node), 3);
}

// A huge page across the end of a chunk would migrate as a whole, including the neighbour.
TEST(NumaNode, SplitBoundaryHugePages_KeepsInnerOnes) {
  constexpr std::size_t k_huge = 2u << 20;
  constexpr std::size_t k_pages = k_huge / k_page;
  const Mapping map(4 * k_huge, k_huge);
  ASSERT_EQ(::madvise(map.page(0), 4 * k_huge, MADV_HUGEPAGE), 0);
  map.touch(0, 4 * k_pages);
  for (std::size_t i = 0; i < 4; ++i) {
    const auto flags = page_flags(map.address(i * k_pages));
    if (!flags) GTEST_SKIP() << "only root may read page flags";
    if ((*flags & k_flag_huge) == 0) GTEST_SKIP() << "the kernel gave no huge page";
  }
  // From the middle of the first huge page to the middle of the third; the fourth belongs to a neighbour.
  split_boundary_huge_pages(map.address(k_pages / 2), 2 * k_huge);
  const bool expected[] = {false, true, false, true};
  for (std::size_t i = 0; i < 4; ++i)
    EXPECT_EQ((page_flags(map.address(i * k_pages)).value() & k_flag_huge) != 0, expected[i]) << i;
  for (std::size_t i = 0; i < 4 * k_pages; ++i)
    ASSERT_EQ(*map.page(i), static_cast<unsigned char>(i + 1)) << "contents survive";
}

// Installs a seccomp filter that refuses these calls with EPERM, as containers do.
void forbid_numa_calls() {
  const auto number = static_cast<std::uint32_t>(offsetof(struct seccomp_data, nr));
  struct sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, number),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mbind, 2, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_move_pages, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
  };
  const struct sock_fprog program = {5, filter};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
    ::_exit(77);
}

TEST(NumaNode, SeccompFilter_ReportsEperm) {
  const auto child = ::fork();
  if (child == 0) {
    const Mapping map(4 * k_page);
    map.touch(0, 4);
    forbid_numa_calls();
    std::vector<void*> pages = {map.page(0), map.page(1)};
    std::vector<int> where(2, 0);
    const bool right = prefer_node(map.address(), 4 * k_page, 0) == EPERM &&
                       move_pages_to(pages, 0, where) == EPERM && where == std::vector<int>{-EPERM, -EPERM} &&
                       query_pages(map.address(), where) == EPERM && !is_absent(-EPERM);
    ::_exit(right ? 0 : 1);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "this system has no system-call filters";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace terrace::memory
