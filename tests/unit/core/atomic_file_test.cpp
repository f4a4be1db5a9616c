// Tests atomic replacement of files, and writing to devices and through symbolic links.
#include "core/atomic_file.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <sstream>
#include <thread>

namespace terrace {
namespace {

namespace fs = std::filesystem;

std::string content(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

class AtomicFile : public ::testing::Test {
 protected:
  void SetUp() override {
    folder = fs::path(::testing::TempDir()) / ("whole" + std::to_string(::getpid()));
    fs::create_directories(folder);
  }
  void TearDown() override { fs::remove_all(folder); }
  fs::path folder;
};

TEST_F(AtomicFile, ExistingFile_IsReplacedWithoutLeftovers) {
  EXPECT_EQ(write_file_atomically(folder / "one", "first, and longer"), "");
  EXPECT_EQ(write_file_atomically(folder / "one", "second"), "");
  EXPECT_EQ(content(folder / "one"), "second");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), {}), 1);
}

TEST_F(AtomicFile, SymbolicLink_TargetIsReplaced) {
  std::ofstream(folder / "target") << "old";
  fs::create_symlink("target", folder / "link");
  EXPECT_EQ(write_file_atomically(folder / "link", "new"), "");
  EXPECT_TRUE(fs::is_symlink(folder / "link"));
  EXPECT_EQ(content(folder / "target"), "new");
}

TEST_F(AtomicFile, Device_IsWrittenDirectly) {
  const auto pipe = folder / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  std::ifstream reader;
  std::thread read([&] { reader.open(pipe); });
  EXPECT_EQ(write_file_atomically(pipe, "through"), "");
  read.join();
  std::string word;
  reader >> word;
  EXPECT_EQ(word, "through");
  EXPECT_TRUE(fs::is_fifo(pipe));
}

TEST_F(AtomicFile, Failure_ReturnsTheSystemsMessage) {
  EXPECT_EQ(write_file_atomically("/dev/full", "x"), "No space left on device");
  EXPECT_TRUE(fs::is_character_file("/dev/full"));
  EXPECT_EQ(write_file_atomically(folder / "none" / "one", "x"), "No such file or directory");
}

// Limits the size of files that this process writes.
class SizeLimit {
 public:
  explicit SizeLimit(rlim_t bytes) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit less{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &less);
  }
  ~SizeLimit() { setrlimit(RLIMIT_FSIZE, &before_); }
  SizeLimit(const SizeLimit&) = delete;
  SizeLimit& operator=(const SizeLimit&) = delete;

 private:
  rlimit before_{};
};

bool is_pending(int signal) {
  sigset_t pending;
  return sigpending(&pending) == 0 && sigismember(&pending, signal) == 1;
}

// SIGXFSZ would end this process.
TEST_F(AtomicFile, FileSizeLimit_FailsWithoutSignal) {
  EXPECT_EQ(write_file_atomically(folder / "one", "first"), "");
  {
    const SizeLimit limit(1000);
    EXPECT_EQ(write_file_atomically(folder / "one", std::string(5000, 'x')), "File too large");
  }
  EXPECT_EQ(content(folder / "one"), "first");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), {}), 1);
  sigset_t blocked;
  pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
  EXPECT_FALSE(sigismember(&blocked, SIGXFSZ));
}

// The program blocks the signal: a pending one stays pending, and none is added.
TEST_F(AtomicFile, PendingSigxfsz_IsKept) {
  sigset_t size, before;
  sigemptyset(&size);
  sigaddset(&size, SIGXFSZ);
  pthread_sigmask(SIG_BLOCK, &size, &before);
  const SizeLimit limit(1000);
  EXPECT_EQ(write_file_atomically(folder / "one", std::string(5000, 'x')), "File too large");
  EXPECT_FALSE(is_pending(SIGXFSZ));
  raise(SIGXFSZ);
  EXPECT_EQ(write_file_atomically(folder / "one", std::string(5000, 'x')), "File too large");
  EXPECT_TRUE(is_pending(SIGXFSZ));
  constexpr timespec k_now{0, 0};
  sigtimedwait(&size, nullptr, &k_now);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace
}  // namespace terrace
