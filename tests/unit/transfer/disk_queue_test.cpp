// Tests of the disk queues: partial transfers are resumed, or the whole request fails.
#include "transfer/spill/disk_queue.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace terrace::transfer {
namespace {

constexpr std::size_t k_size = 64 << 10;

// An unlinked file.
class File {
 public:
  File() {
    auto name = testing::TempDir() + "disk-queue-XXXXXX";
    file_ = mkostemp(name.data(), O_CLOEXEC);
    unlink(name.c_str());
  }
  ~File() { close(file_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  [[nodiscard]] int get() const { return file_; }

 private:
  int file_;
};

class DiskQueueTest : public testing::TestWithParam<bool> {
 protected:
  void make(int file) {
    queue_ = GetParam() ? make_ring_queue(file) : make_thread_queue(file, 2);
    if (!queue_) GTEST_SKIP() << "no io_uring here";
  }
  // Returns a completion, or nothing after `within` milliseconds.
  std::optional<DiskCompletion> wait_for_completion(int within) {
    DiskCompletion one;
    pollfd ended{queue_->completion_fd(), POLLIN, 0};
    for (int look = 0; look < 100; ++look) {
      if (queue_->next_completion(one)) return one;
      if (poll(&ended, 1, within) == 0) break;
    }
    return {};
  }
  std::optional<DiskCompletion> execute(bool write, std::vector<char>& memory, std::uint64_t offset) {
    queue_->start({write, reinterpret_cast<std::uint64_t>(memory.data()), offset, memory.size(), 7});
    queue_->submit();
    return wait_for_completion(20000);
  }
  std::unique_ptr<DiskQueue> queue_;
};

std::vector<char> pattern(std::size_t size) {
  std::vector<char> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i % 251 + 1);
  return bytes;
}

TEST_P(DiskQueueTest, WriteThenRead_ReturnsContent) {
  const File file;
  ASSERT_NO_FATAL_FAILURE(make(file.get()));
  if (!queue_) return;
  auto bytes = pattern(k_size);
  auto done = execute(true, bytes, 4096);
  ASSERT_TRUE(done);
  EXPECT_EQ(done->error, 0);
  EXPECT_EQ(done->token, 7U);
  std::vector<char> read(k_size);
  done = execute(false, read, 4096);
  ASSERT_TRUE(done);
  EXPECT_EQ(done->error, 0);
  EXPECT_EQ(read, bytes);
  EXPECT_EQ(queue_->num_free(), k_disk_requests);
}

TEST_P(DiskQueueTest, ReadBeyondEndOfFile_Fails) {
  const File file;
  ASSERT_NO_FATAL_FAILURE(make(file.get()));
  if (!queue_) return;
  auto bytes = pattern(k_size);
  ASSERT_EQ(pwrite(file.get(), bytes.data(), k_size, 0), static_cast<ssize_t>(k_size));
  std::vector<char> read(k_size);
  const auto half = execute(false, read, k_size / 2);
  ASSERT_TRUE(half);
  EXPECT_EQ(half->error, EIO) << "a half of it is there";
  const auto none = execute(false, read, k_size);
  ASSERT_TRUE(none);
  EXPECT_EQ(none->error, EIO);
  EXPECT_EQ(queue_->num_free(), k_disk_requests);
}

TEST_P(DiskQueueTest, WriteBeyondFileSizeLimit_Fails) {
  const File file;
  ASSERT_NO_FATAL_FAILURE(make(file.get()));
  if (!queue_) return;
  auto* const before = signal(SIGXFSZ, SIG_IGN);
  rlimit limit{};
  getrlimit(RLIMIT_FSIZE, &limit);
  const rlimit little{k_size + k_size / 2, limit.rlim_max};
  setrlimit(RLIMIT_FSIZE, &little);
  auto bytes = pattern(k_size);
  const auto done = execute(true, bytes, k_size);
  setrlimit(RLIMIT_FSIZE, &limit);
  signal(SIGXFSZ, before);
  ASSERT_TRUE(done);
  EXPECT_EQ(done->error, EFBIG);
  EXPECT_EQ(lseek(file.get(), 0, SEEK_END), static_cast<off_t>(k_size + k_size / 2)) << "a half was written";
  std::vector<char> read(k_size / 2);
  EXPECT_EQ(pread(file.get(), read.data(), read.size(), k_size), static_cast<ssize_t>(read.size()));
  EXPECT_TRUE(std::equal(read.begin(), read.end(), bytes.begin()));
}

// A pipe delivers partial reads. Ring only: pread(2), used by the thread queue, cannot read pipes.
class DiskQueueOfPipe : public DiskQueueTest {};

TEST_P(DiskQueueOfPipe, PartialRead_IsResumed) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  make(ends[0]);
  if (queue_) {
    const auto bytes = pattern(3000);
    std::vector<char> read(bytes.size());
    queue_->start({false, reinterpret_cast<std::uint64_t>(read.data()), 0, read.size(), 9});
    queue_->submit();
    for (const std::size_t part : {0, 1, 2}) {
      EXPECT_FALSE(wait_for_completion(part == 0 ? 0 : 50)) << "before part " << part << " was there";
      ASSERT_EQ(write(ends[1], bytes.data() + part * 1000, 1000), 1000);
    }
    const auto done = wait_for_completion(20000);
    ASSERT_TRUE(done);
    EXPECT_EQ(done->error, 0);
    EXPECT_EQ(done->token, 9U);
    EXPECT_EQ(read, bytes);
  }
  queue_.reset();
  for (const int end : ends) close(end);
}

INSTANTIATE_TEST_SUITE_P(Queues, DiskQueueTest, testing::Values(true, false),
                         [](const auto& way) { return way.param ? "ring" : "threads"; });

INSTANTIATE_TEST_SUITE_P(Queues, DiskQueueOfPipe, testing::Values(true), [](const auto&) { return "ring"; });

}  // namespace
}  // namespace terrace::transfer
