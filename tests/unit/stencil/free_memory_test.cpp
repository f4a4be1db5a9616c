// Tests the free-memory query on files as kernels write them, and datasets that need more.
#include "stencil/data/free_memory.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <filesystem>
#include <fstream>

#include "child.hpp"
#include "core/error.hpp"
#include "terrace/stencil.hpp"

namespace terrace::stencil {
namespace {

struct Free : testing::Test {
  void SetUp() override { std::filesystem::remove_all(root); }
  void TearDown() override { std::filesystem::remove_all(root); }
  void put(const std::string& file, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(root + file).parent_path());
    std::ofstream(root + file) << text;
  }
  std::string root = testing::TempDir() + "free_memory_test";
};

TEST_F(Free, NoFiles_GiveNothing) { EXPECT_FALSE(free_memory(root)); }

TEST_F(Free, MemAvailable_IsReturned) {
  put("/proc/meminfo", "MemTotal:       16384 kB\nMemFree:         1024 kB\nMemAvailable:    4096 kB\n");
  const auto found = free_memory(root);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->bytes, 4096U * 1024);
  EXPECT_EQ(found->by, "MemAvailable of /proc/meminfo");
}

TEST_F(Free, NestedControlGroups_GiveMinimum) {
  put("/proc/meminfo", "MemAvailable:    4096 kB\n");
  put("/proc/self/cgroup", "0::/job/step\n");
  put("/sys/fs/cgroup/job/memory.max", "3000000\n");
  put("/sys/fs/cgroup/job/memory.current", "2500000\n");
  put("/sys/fs/cgroup/job/memory.stat", "anon 2000000\ninactive_file 300000\nactive_file 100000\n");
  put("/sys/fs/cgroup/job/step/memory.max", "max\n");
  put("/sys/fs/cgroup/job/step/memory.current", "2500000\n");
  auto found = free_memory(root);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->bytes, 3000000U - (2500000 - 400000));
  EXPECT_TRUE(found->by.ends_with("/job/memory.max")) << found->by;
  put("/sys/fs/cgroup/job/step/memory.max", "2600000\n");
  found = free_memory(root);
  EXPECT_EQ(found->bytes, 100000U);
  put("/sys/fs/cgroup/job/step/memory.max", "2400000\n");  // limit below the usage
  EXPECT_EQ(free_memory(root)->bytes, 0U);
}

TEST_F(Free, CgroupV1AndHostPath_AreRead) {
  put("/proc/meminfo", "MemAvailable:    4096 kB\n");
  put("/proc/self/cgroup", "9:cpu,cpuacct:/\n4:memory:/docker/0123\n0::/\n");
  put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "1000000\n");
  put("/sys/fs/cgroup/memory/memory.usage_in_bytes", "700000\n");
  put("/sys/fs/cgroup/memory/memory.stat", "inactive_file 1\ntotal_inactive_file 50000\n");
  EXPECT_EQ(free_memory(root)->bytes, 350000U);
  put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");  // none
  EXPECT_EQ(free_memory(root)->bytes, 4096U * 1024);
}

std::string made(const Options& options, const std::vector<std::ptrdiff_t>& size) {
  try {
    Context context(options);
    static_cast<void>(context.block("block", size).dataset<double>("u"));
  } catch (const Error& error) {
    return (error.code() == Code::no_memory ? "" : "another code: ") + std::string(error.what());
  }
  return "nothing is refused";
}

// Limits the address space to 16 GiB. Sanitizers need more.
void limit_addresses() {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  const rlimit limit{std::uint64_t{1} << 34U, std::uint64_t{1} << 34U};
  setrlimit(RLIMIT_AS, &limit);
#endif
}

// Refused before first touch, at which the kernel would kill the process. The limit would end the child
// instead.
TEST(Datasets, LargerThanFreeMemory_AreRefused) {
  for (const auto* const executor : {"serial", "parallel", "tiled"}) {
    const auto text = test::in_child([&] {
      limit_addresses();
      return made({.executor = executor, .threads = 1}, {1 << 20, 1 << 20});  // 8 TiB
    });
    ASSERT_TRUE(text);
    EXPECT_TRUE(text->starts_with("the dataset 'u' takes 8")) << *text;
    EXPECT_NE(text->find(" are free ("), std::string::npos) << *text;
    EXPECT_TRUE(text->ends_with(
        ": take executor=streamed,memory=SIZE, which has datasets in a file, or a smaller problem"))
        << *text;
    EXPECT_EQ(text->find('\n'), std::string::npos);
  }
}

TEST(Datasets, InFileLargerThanFreeMemory_AreAccepted) {
  const auto free = free_memory();
  ASSERT_TRUE(free);
  // No blocks are reserved in the file: only the disk may refuse it, not the memory check.
  Options paged{.executor = "tiled", .threads = 1, .folder = "/no/where"};
  paged.is_paged = true;
  const auto rows = static_cast<std::ptrdiff_t>(free->bytes / (8 << 10U)) * 2;
  EXPECT_NE(made(paged, {1 << 10, rows}).find("/no/where"), std::string::npos);
}

TEST(Memory, StreamLargerThanFreeMemory_IsRefused) {
  const auto text = test::in_child([&] {
    limit_addresses();
    return made(
        {.executor = "streamed", .threads = 1, .memory = std::uint64_t{1} << 43U, .folder = testing::TempDir()},
        {8, 8});
  });
  ASSERT_TRUE(text);
  EXPECT_TRUE(text->starts_with("memory=8TiB takes 8")) << *text;
  EXPECT_TRUE(text->ends_with(": make memory=SIZE smaller")) << *text;
}

}  // namespace
}  // namespace terrace::stencil
