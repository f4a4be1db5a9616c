// Tests of the backing file: access by its owner only, and release of disk blocks.
#include "transfer/spill/spill_file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/falloc.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "spill_fixture.hpp"
#include "support/spin_wait.hpp"

namespace terrace::transfer {
namespace {

// Emulates a file system without a feature for this thread, by seccomp: a system call fails with EOPNOTSUPP if its
// third argument has one of these bits, or always if there are none. Returns false without seccomp support.
bool deny(std::uint32_t call, std::uint32_t bits = 0) {
#if defined(__x86_64__)
  constexpr std::uint32_t k_machine = AUDIT_ARCH_X86_64;
#else
  constexpr std::uint32_t k_machine = AUDIT_ARCH_AARCH64;
#endif
  constexpr std::uint32_t k_third = offsetof(seccomp_data, args) + 2 * sizeof(std::uint64_t);
  const std::uint16_t condition = bits == 0 ? BPF_JGE : BPF_JSET;
  sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, k_machine, 0, 5),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, k_third),
      BPF_JUMP(static_cast<std::uint16_t>(BPF_JMP | condition | BPF_K), bits, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EOPNOTSUPP),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog filter{std::size(program), program};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

bool deny_unnamed_files() { return deny(SYS_openat, O_TMPFILE & ~O_DIRECTORY); }

std::string new_folder() {
  auto folder = testing::TempDir() + "spill-file-XXXXXX";
  EXPECT_NE(mkdtemp(folder.data()), nullptr);
  return folder;
}

void expect_private(const std::string& folder) {
  const SpillFile file(folder);
  struct stat now {};
  ASSERT_EQ(fstat(file.fd(), &now), 0);
  EXPECT_TRUE(S_ISREG(now.st_mode));
  EXPECT_EQ(now.st_mode & 07777, 0600U);
  EXPECT_EQ(now.st_nlink, 0U) << "it has a name";
  EXPECT_TRUE(std::filesystem::is_empty(folder));
  EXPECT_EQ(fcntl(file.fd(), F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
  EXPECT_EQ(pwrite(file.fd(), nullptr, 0, 0), 0) << "it can be written";
}

// Regardless of the program's umask.
class NoMask {
 public:
  NoMask() : before_(umask(0)) {}
  ~NoMask() { umask(before_); }
  NoMask(const NoMask&) = delete;
  NoMask& operator=(const NoMask&) = delete;

 private:
  mode_t before_;
};

TEST(SpillFile, File_IsAccessibleByOwnerOnly) {
  const NoMask mask;
  const auto folder = new_folder();
  expect_private(folder);
  EXPECT_TRUE(std::filesystem::remove(folder));
}

TEST(SpillFile, NoTmpfileSupport_FileIsAccessibleByOwnerOnly) {
  const NoMask mask;
  const auto folder = new_folder();
  bool denied = false;
  std::thread([&] {
    denied = deny_unnamed_files();
    if (!denied) return;
    EXPECT_EQ(open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600), -1);
    EXPECT_EQ(errno, EOPNOTSUPP);
    expect_private(folder);
  }).join();
  EXPECT_TRUE(std::filesystem::remove(folder));
  if (!denied) GTEST_SKIP() << "no filters of calls here";
}

// Concurrent extensions, by release(), map() and other writers, do not truncate content behind them.
TEST(SpillFile, ConcurrentExtension_FileNeverShrinks) {
  constexpr std::uint64_t k_range = 64 << 10;
  constexpr int k_rounds = 3000;
  SpillFile file("/var/tmp");
  auto* const here = mmap(nullptr, k_range, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(here, MAP_FAILED);
  alignas(4096) static std::array<char, 4096> page;
  page.fill('x');
  std::atomic<int> begun{0}, written{0};
  std::thread writer([&] {
    for (int round = 1; round <= k_rounds; ++round) {
      tests::spin_until([&] { return begun >= round; });
      for (int wait = round % 64; wait > 0; --wait) __asm__ volatile("");
      const auto behind = static_cast<off_t>(2 * static_cast<std::uint64_t>(round) * k_range + k_range);
      EXPECT_EQ(pwrite(file.fd(), page.data(), page.size(), behind), static_cast<ssize_t>(page.size()));
      written = round;
    }
  });
  int lost = 0;
  for (int round = 1; round <= k_rounds; ++round) {
    const auto at = 2 * static_cast<std::uint64_t>(round) * k_range;
    begun = round;
    if (round % 2 == 0)
      file.release(at, k_range);
    else
      EXPECT_EQ(file.map(reinterpret_cast<std::uint64_t>(here), at, k_range), 0);
    tests::spin_until([&] { return written >= round; });
    lost += lseek(file.fd(), 0, SEEK_END) < static_cast<off_t>(at + k_range + page.size()) ? 1 : 0;
  }
  writer.join();
  munmap(here, k_range);
  EXPECT_EQ(lost, 0);
}

// Maps also where the file system cannot reserve space.
TEST(SpillFile, NoFallocateSupport_FileIsMapped) {
  constexpr std::uint64_t k_range = 64 << 10;
  bool denied = false;
  std::thread([&] {
    SpillFile file("/var/tmp");
    auto* const here = static_cast<char*>(mmap(nullptr, k_range, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ASSERT_NE(here, MAP_FAILED);
    denied = deny(SYS_fallocate);
    if (denied) {
      EXPECT_EQ(file.reserve(0, k_range), EOPNOTSUPP);
      EXPECT_EQ(file.map(reinterpret_cast<std::uint64_t>(here), k_range, k_range), 0);
      here[0] = here[k_range - 1] = 'x';
      file.release(0, 4 * k_range);
      EXPECT_EQ(lseek(file.fd(), 0, SEEK_END), static_cast<off_t>(4 * k_range));
    }
    munmap(here, k_range);
  }).join();
  if (!denied) GTEST_SKIP() << "no filters of calls here";
}

// Returns the file's bytes on disk.
std::uint64_t room_of(int file) {
  struct stat now {};
  EXPECT_EQ(fstat(file, &now), 0);
  return static_cast<std::uint64_t>(now.st_blocks) * 512;
}

// Finds the backing file among the descriptors of the pager thread, which has its own file table.
std::optional<std::uint64_t> room_of_spill_file() {
  namespace fs = std::filesystem;
  for (const auto& task : fs::directory_iterator("/proc/self/task")) {
    std::string name;
    std::ifstream(task.path() / "comm") >> name;
    if (name != "terrace/spill") continue;
    std::error_code gone;
    for (const auto& one : fs::directory_iterator(task.path() / "fd", gone)) {
      struct stat now {};
      if (stat(one.path().c_str(), &now) != 0 || !S_ISREG(now.st_mode) || now.st_nlink != 0) continue;
      EXPECT_EQ(now.st_mode & 07777, 0600U);
      return static_cast<std::uint64_t>(now.st_blocks) * 512;
    }
  }
  return {};
}

bool can_make_holes() {
  SpillFile file("/var/tmp");
  return file.reserve(0, k_chunk) == 0 &&
         fallocate(file.fd(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, k_chunk) == 0;
}

TEST(SpillFile, Release_FreesDiskBlocks) {
  if (!can_make_holes()) GTEST_SKIP() << "the file system of /var/tmp makes no holes";
  SpillFile file("/var/tmp");
  ASSERT_EQ(file.reserve(0, 8 * k_chunk), 0);
  const auto all = room_of(file.fd());
  EXPECT_GE(all, 8 * k_chunk);
  file.release(2 * k_chunk, 4 * k_chunk);
  EXPECT_LE(room_of(file.fd()) + 4 * k_chunk, all);
  EXPECT_GE(room_of(file.fd()), 4 * k_chunk) << "the rest keeps its room";
}

TEST_P(SpillTest, Release_FreesFileSpace) {
  if (!can_make_holes()) GTEST_SKIP() << "the file system of /var/tmp makes no holes";
  constexpr std::size_t k_chunks = 60;
  constexpr std::size_t k_little = k_chunk / 2;  // for the file system's own metadata
  Spilled memory(2 * k_chunks, GetParam());
  auto* const data = memory.allocate(k_chunks);
  const auto at = [&](std::size_t chunk) { return reinterpret_cast<std::uint64_t>(data + chunk * k_words); };
  for (std::size_t c = 0; c < k_chunks; ++c)
    for (std::size_t i = 0; i < k_words; i += 512) data[c * k_words + i] = c + 1;
  const auto all = room_of_spill_file();
  ASSERT_TRUE(all.has_value());
  EXPECT_GE(*all, k_chunks * k_chunk) << "room was asked for when memory was short";
  memory.spill().release(at(10), 20 * k_chunk);
  EXPECT_LE(room_of_spill_file().value_or(*all), (k_chunks - 20) * k_chunk + k_little);
  memory.spill().release(at(0), 10 * k_chunk);
  memory.spill().release(at(30), 30 * k_chunk);
  EXPECT_LE(room_of_spill_file().value_or(*all), k_little);
  memory.release(data);
}

// Discarded memory stays in use: its file space stays reserved.
TEST_P(SpillTest, Discard_KeepsFileSpace) {
  if (!can_make_holes()) GTEST_SKIP() << "the file system of /var/tmp makes no holes";
  constexpr std::size_t k_chunks = 60;
  Spilled memory(k_chunks, GetParam());
  auto* const data = memory.allocate(k_chunks);
  for (std::size_t c = 0; c < k_chunks; ++c) data[c * k_words] = c + 1;
  memory.spill().discard(reinterpret_cast<std::uint64_t>(data), k_chunks * k_chunk);
  EXPECT_EQ(memory.counts().content, 0U);
  EXPECT_GE(room_of_spill_file().value_or(0), k_chunks * k_chunk);
  for (std::size_t c = 0; c < k_chunks; ++c) ASSERT_EQ(data[c * k_words], 0U);
  memory.release(data);
}

// Repeats it for kernel paging.
TEST(PagedSpill, Release_FreesFileSpace) {
  if (!can_make_holes()) GTEST_SKIP() << "the file system of /var/tmp makes no holes";
  constexpr std::size_t k_chunks = 16;
  constexpr std::size_t k_little = k_chunk / 2;
  memory::RegionSpace space(Bytes{256 * k_chunk}, Bytes{k_chunk});
  SpillCounts counts{};
  SpillEngine::Parts parts;
  parts.base = space.base();
  parts.size = space.reserved().value;
  parts.memory = Bytes{resident_bytes().value + k_chunks * k_chunk};
  parts.folder = "/var/tmp";
  parts.counts = &counts;
  parts.paged = true;
  const auto spill = make_spill(parts);
  auto* const data = static_cast<std::uint64_t*>(space.allocate(k_chunks * k_chunk));
  const auto at = [&](std::size_t chunk) { return reinterpret_cast<std::uint64_t>(data + chunk * k_words); };
  spill->reserve(at(0), k_chunks * k_chunk);
  for (std::size_t c = 0; c < k_chunks; ++c) data[c * k_words] = c + 1;
  const auto all = room_of_spill_file();
  ASSERT_TRUE(all.has_value());
  EXPECT_GE(*all, k_chunks * k_chunk) << "room is taken at once";
  spill->release(at(10), 6 * k_chunk);
  EXPECT_LE(room_of_spill_file().value_or(*all), 10 * k_chunk + k_little);
  for (std::size_t c = 0; c < k_chunks; ++c) ASSERT_EQ(data[c * k_words], c < 10 ? c + 1 : 0);
  spill->release(at(0), 10 * k_chunk);
  EXPECT_LE(room_of_spill_file().value_or(*all), k_little);
}

}  // namespace
}  // namespace terrace::transfer
