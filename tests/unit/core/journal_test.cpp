// Tests the guarantees of the journal. Records appended before a process died, at whatever instruction, can be
// read in order and unchanged. Arbitrary bytes make the reader fail only by reporting an error.
#include "core/journal.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <new>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "core/blob.hpp"
#include "core/error.hpp"

namespace terrace {
namespace {

std::vector<std::byte> load_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::vector<char> chars((std::istreambuf_iterator<char>(in)), {});
  std::vector<std::byte> bytes(chars.size());
  std::memcpy(bytes.data(), chars.data(), chars.size());
  return bytes;
}

std::span<const std::byte> bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

struct Read {
  std::vector<std::pair<std::uint16_t, std::string>> records;
  JournalEnd end;
};

Read read(std::span<const std::byte> file) {
  Read result;
  result.end = read_journal(file, [&](const JournalRecord& record) {
    result.records.emplace_back(
        record.type, std::string(reinterpret_cast<const char*>(record.payload.data()), record.payload.size()));
  });
  return result;
}

class JournalTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "journal.XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override {
    for (const auto& path : paths_) unlink(path.c_str());
    rmdir(folder_.c_str());
  }
  std::string path(const std::string& name = "app.journal") { return paths_.emplace_back(folder_ + "/" + name); }

 private:
  std::string folder_;
  std::vector<std::string> paths_;
};

TEST_F(JournalTest, RoundTrip_EqualsInput) {
  const auto file = path();
  std::vector<std::pair<std::uint16_t, std::string>> wanted;
  {
    Journal journal(file);
    std::mt19937 random(1);
    for (int i = 0; i < 1000; ++i) {
      std::string text(random() % 300, '\0');
      for (auto& c : text) c = static_cast<char>(random());
      const auto type = static_cast<std::uint16_t>(random());
      journal.append(type, bytes_of(text));
      wanted.emplace_back(type, text);
    }
    journal.append(7, {});  // an empty payload is valid
    wanted.emplace_back(7, "");
    EXPECT_EQ(journal.lost(), 0U);
    // Read the file while the writer is open, as `terrace merge` may.
    EXPECT_EQ(read(load_file(file)).records, wanted);
  }
  const auto result = read(load_file(file));
  EXPECT_EQ(result.records, wanted);
  EXPECT_TRUE(result.end.whole) << result.end.reason;
  EXPECT_EQ(result.end.records, wanted.size());
  EXPECT_EQ(result.end.process, static_cast<std::uint32_t>(getpid()));
}

TEST_F(JournalTest, File_IsPrivateAndNeverOverwritten) {
  const auto file = path();
  Journal journal(file);
  struct stat status {};
  ASSERT_EQ(stat(file.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
  try {
    Journal second(file);
    FAIL() << "a second journal took the first one's file";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::failed);
    EXPECT_NE(std::string(error.what()).find(file), std::string::npos) << error.what();
  }
  EXPECT_EQ(access(file.c_str(), F_OK), 0);  // the failed constructor did not remove it
}

TEST_F(JournalTest, ManyRecords_FileGrows) {
  const auto file = path();
  const std::string text(1 << 20, 'x');
  {
    Journal journal(file);
    for (int i = 0; i < 40; ++i) journal.append(1, bytes_of(text));
  }
  const auto bytes = load_file(file);
  EXPECT_EQ(bytes.size(), 64U + 40U * (16U + text.size()));  // space allocated ahead is truncated
  EXPECT_EQ(read(bytes).records.size(), 40U);
}

TEST_F(JournalTest, ConcurrentThreads_RecordsStayWhole) {
  const auto file = path();
  constexpr int k_threads = 4;
  constexpr std::uint32_t k_each = 5000;
  {
    Journal journal(file);
    std::vector<std::thread> threads;
    threads.reserve(k_threads);
    for (int t = 0; t < k_threads; ++t) {
      threads.emplace_back([&journal, t] {
        for (std::uint32_t i = 0; i < k_each; ++i) {
          BlobWriter out;
          out.put(i);
          out.put(std::string(i % 50, static_cast<char>('a' + t)));
          journal.append(static_cast<std::uint16_t>(t), out.bytes());
        }
      });
    }
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(journal.lost(), 0U);
  }
  std::map<std::uint16_t, std::uint32_t> next;
  const auto bytes = load_file(file);
  const auto end = read_journal(bytes, [&](const JournalRecord& record) {
    BlobReader in(record.payload);
    ASSERT_EQ(in.get<std::uint32_t>(), next[record.type]);  // the records of each thread are in order
    ASSERT_EQ(in.get_string(), std::string(next[record.type] % 50, static_cast<char>('a' + record.type)));
    ++next[record.type];
  });
  EXPECT_TRUE(end.whole) << end.reason;
  for (int t = 0; t < k_threads; ++t) EXPECT_EQ(next[static_cast<std::uint16_t>(t)], k_each);
}

TEST_F(JournalTest, FileSizeLimit_DropsRecords) {
  const auto file = path();
  const auto child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    // SIGXFSZ would kill the child: exit code 0 shows that it was not sent.
    Journal journal(file);
    const rlimit limit{1 << 20, 1 << 20};
    setrlimit(RLIMIT_FSIZE, &limit);
    const std::string text(1000, 'x');
    errno = 0;
    for (int i = 0; i < 5000; ++i) journal.append(1, bytes_of(text));
    const bool right = journal.lost() > 3900 && journal.lost() < 4100 && errno == 0;
    _exit(right ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  const auto result = read(load_file(file));
  EXPECT_TRUE(result.end.whole) << result.end.reason;
  EXPECT_NEAR(static_cast<double>(result.records.size()), (1 << 20) / 1016.0, 40);
}

TEST_F(JournalTest, AddressSpaceLimit_SmallerReservation) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers reserve more address space than the limit";
#endif
  const auto file = path();
  const auto child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const rlimit limit{2ULL << 30, 2ULL << 30};
    setrlimit(RLIMIT_AS, &limit);
    Journal journal(file);
    journal.append(5, bytes_of("small world"));
    _exit(journal.lost() == 0 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_EQ(read(load_file(file)).records.at(0).second, "small world");
}

// A shell's `exec 3<file` reuses any descriptor number.
TEST_F(JournalTest, ReusedDescriptor_IsNotWritten) {
  const auto file = path();
  const auto other = path("others");
  std::ofstream(other) << "the program's";
  {
    Journal journal(file);
    journal.append(1, bytes_of("before"));
    int number = -1;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd"))
      if (std::error_code gone; std::filesystem::read_symlink(entry.path(), gone) == file)
        number = std::stoi(entry.path().filename());
    ASSERT_GE(number, 64) << "a number that programs choose";
    const int own = open(other.c_str(), O_RDWR | O_CLOEXEC);
    ASSERT_EQ(dup2(own, number), number);
    // Far beyond the allocated part.
    const std::string much(1 << 20, 'x');
    for (int i = 0; i < 64; ++i) journal.append(1, bytes_of(much));
    EXPECT_GT(journal.lost(), 0U);
    close(own);
  }
  EXPECT_EQ(std::filesystem::file_size(other), 13U);
  std::ifstream in(other);
  std::string text;
  std::getline(in, text);
  EXPECT_EQ(text, "the program's");
  const auto all = read(load_file(file));
  ASSERT_FALSE(all.records.empty());
  EXPECT_EQ(all.records.front().second, "before");
}

TEST_F(JournalTest, ForkedChild_DropsRecords) {
  const auto file = path();
  {
    Journal journal(file);
    journal.append(1, bytes_of("parent"));
    const auto child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      journal.append(2, bytes_of("child"));
      const bool quiet = journal.lost() == 1;
      journal.~Journal();
      _exit(quiet ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(WEXITSTATUS(status), 0);
    journal.append(1, bytes_of("parent again"));
    EXPECT_EQ(journal.lost(), 0U);
  }
  const auto result = read(load_file(file));
  ASSERT_EQ(result.records.size(), 2U);
  EXPECT_EQ(result.records[1].second, "parent again");
}

// The writer counts appended records in shared memory. The parent kills it at a random count, at whatever
// instruction. The file must have all counted records, and at most one more.
TEST_F(JournalTest, KilledWriter_LosesNoRecord) {
  using Counter = std::atomic<std::uint32_t>;
  static_assert(Counter::is_always_lock_free);
  void* shared = mmap(nullptr, sizeof(Counter), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(shared, MAP_FAILED);
  auto& appended = *new (shared) Counter(0);
  const auto record = [](std::uint32_t i) {
    BlobWriter out;
    out.put(i);
    out.put(std::string((i * 7919U) % 400U, static_cast<char>('a' + i % 26U)));
    return out;
  };
  std::mt19937 random(20261121);
  for (int round = 0; round < 200; ++round) {
    const auto file = path("killed." + std::to_string(round));
    const auto kill_after = static_cast<std::uint32_t>(random() % 3000);
    appended = 0;
    const auto child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      Journal journal(file);
      for (std::uint32_t i = 0;; ++i) {
        journal.append(3, record(i).bytes());
        appended.store(i + 1, std::memory_order_release);
      }
    }
    while (appended.load(std::memory_order_acquire) < kill_after + 1) sched_yield();
    ASSERT_EQ(kill(child, SIGKILL), 0);
    ASSERT_EQ(waitpid(child, nullptr, 0), child);
    const auto result = read(load_file(file));
    ASSERT_TRUE(result.end.whole) << result.end.reason;
    ASSERT_GE(result.records.size(), appended.load());
    ASSERT_LE(result.records.size(), appended.load() + 1);
    for (std::uint32_t i = 0; i < result.records.size(); ++i) {
      const auto wanted = record(i);
      const auto& text = result.records[i].second;
      ASSERT_TRUE(std::ranges::equal(wanted.bytes(), bytes_of(text))) << "record " << i;
    }
    unlink(file.c_str());
  }
  munmap(shared, sizeof(Counter));
}

class DamagedJournal : public JournalTest {
 protected:
  void SetUp() override {
    JournalTest::SetUp();
    const auto file = path();
    {
      Journal journal(file);
      for (std::size_t i = 0; i < 20; ++i) {
        journal.append(static_cast<std::uint16_t>(i), bytes_of(std::string(i * 3, static_cast<char>('a' + i))));
      }
    }
    bytes_ = load_file(file);
    whole_ = read(bytes_).records;
    ASSERT_EQ(whole_.size(), 20U);
  }
  // Checks that the records read from damaged bytes are a prefix of the written ones.
  void expect_beginning(std::span<const std::byte> bytes) {
    const auto result = read(bytes);
    ASSERT_LE(result.records.size(), whole_.size());
    for (std::size_t i = 0; i < result.records.size(); ++i) ASSERT_EQ(result.records[i], whole_[i]);
    EXPECT_EQ(result.end.whole, result.end.reason.empty());
  }
  std::vector<std::byte> bytes_;
  std::vector<std::pair<std::uint16_t, std::string>> whole_;
};

TEST_F(DamagedJournal, Truncated_KeepsPrefix) {
  for (std::size_t size = 64; size < bytes_.size(); ++size) expect_beginning(std::span(bytes_).first(size));
  EXPECT_FALSE(read(std::span(bytes_).first(bytes_.size() - 8)).end.whole);
  for (std::size_t size = 0; size < 64; ++size) EXPECT_THROW(read(std::span(bytes_).first(size)), Error);
}

TEST_F(DamagedJournal, FlippedBit_YieldsNoFalseRecord) {
  for (std::size_t bit = 0; bit < bytes_.size() * 8; ++bit) {
    auto damaged = bytes_;
    damaged[bit / 8] ^= std::byte{1} << (bit % 8);
    if (bit / 8 < 64) {
      EXPECT_THROW(read(damaged), Error) << "bit " << bit;
    } else {
      expect_beginning(damaged);
    }
  }
}

TEST_F(DamagedJournal, DamagedRecord_IsReportedByNumber) {
  auto damaged = bytes_;
  damaged[64 + 16 + 24] ^= std::byte{1};  // records 1 (16 bytes) and 2 (16 + 3 + 5) are whole
  const auto result = read(damaged);
  EXPECT_EQ(result.records.size(), 2U);
  EXPECT_FALSE(result.end.whole);
  EXPECT_NE(result.end.reason.find("record 3 at byte 104"), std::string::npos) << result.end.reason;
}

}  // namespace
}  // namespace terrace
