// Tests that an interrupted checkpoint leaves the previous one intact: full disk, size limit, SIGKILL at any
// moment.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <functional>
#include <thread>

#include "child.hpp"
#include "hidden_file.hpp"
#include "io_files.hpp"

namespace {

// Kills the process when it writes beyond this offset, after all before is written.
std::uint64_t g_ends_at = ~std::uint64_t{0};

}  // namespace

// Interposes the C library's function in this program.
extern "C" ssize_t pwrite(int file, const void* from, std::size_t size, off_t offset) {
  const auto begin = static_cast<std::uint64_t>(offset);
  const auto has_room = begin <= g_ends_at && size <= g_ends_at - begin;
  const auto within = has_room ? size : begin < g_ends_at ? g_ends_at - begin : 0;
  const auto written = syscall(SYS_pwrite64, file, from, within, offset);
  if (!has_room) kill(getpid(), SIGKILL);
  return written;
}

namespace terrace::stencil::test {
namespace {

// Values that are a function of the step.
class Stepped {
 public:
  explicit Stepped(std::ptrdiff_t size, const Options& options = k_serial)
      : context_(options), grid_(context_.block("grid", {size, size})) {
    for (const auto* const name : {"u", "v"}) all_.push_back(grid_.dataset<double>(name, {{-1, -1}, {1, 1}}));
  }
  void write(const std::string& path, std::int64_t step) {
    for (std::size_t i = 0; i < all_.size(); ++i) all_[i].set(all_[i].range(), numbers(i, step));
    Checkpoint checkpoint(context_);
    checkpoint.set("step", step);
    checkpoint.write(path);
  }
  // Chains that read everything several times.
  void read() {
    auto sum = context_.sum<double>();
    for (int i = 0; i < 4; ++i)
      for (const auto& one : all_) {
        grid_.loop(
            "read", grid_.range(), [](auto from, auto all) { all += from(); }, stencil::read(one), into(sum));
        static_cast<void>(sum.value());
      }
  }
  // Returns the checkpoint's step; checks that all values belong to that step.
  std::int64_t restored(const std::string& path) {
    Checkpoint checkpoint(context_);
    checkpoint.restore(path);
    const auto step = checkpoint.integer("step");
    for (std::size_t i = 0; i < all_.size(); ++i)
      EXPECT_EQ(all_[i].get(all_[i].range()), numbers(i, step)) << "of step " << step;
    return step;
  }

 private:
  [[nodiscard]] std::vector<double> numbers(std::size_t dataset, std::int64_t step) const {
    std::vector<double> all(all_[dataset].range().points());
    for (std::size_t k = 0; k < all.size(); ++k)
      all[k] = static_cast<double>(step) + 1e-3 * static_cast<double>(k) + 0.5 * static_cast<double>(dataset);
    return all;
  }
  Context context_;
  Block grid_;
  std::vector<Dataset<double>> all_;
};

void limit_files_to(std::uint64_t bytes) {
  const rlimit limit{bytes, bytes};
  setrlimit(RLIMIT_FSIZE, &limit);
}

// Mounts a disk of 1 MiB that only the child sees. Returns false if this process may not mount.
bool mount_small_disk(const std::string& folder) {
  return unshare(CLONE_NEWNS) == 0 && mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         mount("none", folder.c_str(), "tmpfs", 0, "size=1m") == 0;
}

TEST(CheckpointCrash, FullDisk_KeepsPreviousCheckpoint) {
  const Folder folder;
  const auto path = folder / "state.h5";
  const auto found = in_child([&]() -> std::string {
    if (!mount_small_disk(path.substr(0, path.rfind('/')))) return "no mount";
    // 420 kB each: two fit, and a larger one beside the first does not.
    Stepped small(160), large(220);
    small.write(path, 1);
    small.write(path, 2);
    auto error = error_of([&] { large.write(path, 3); }, Code::failed);
    if (error != path +
                     ": the file cannot be written: No space left on device: free space on its disk, or name a "
                     "file elsewhere")
      return error;
    if (small.restored(path) != 2) return "another step";
    if (folder.names() != std::vector<std::string>{"state.h5"}) return "the draft is left";
    // Continues when there is space again.
    small.write(path, 4);
    return small.restored(path) == 4 ? "right" : "not written afterwards";
  });
  ASSERT_TRUE(found);
  if (*found == "no mount") GTEST_SKIP() << "this process may not mount; the next tests do without";
  EXPECT_EQ(*found, "right");
}

TEST(CheckpointCrash, SizeLimitAnywhere_KeepsPreviousCheckpoint) {
  const Folder folder;
  const auto path = folder / "state.h5";
  Stepped state(24);
  state.write(path, 1);
  const auto size = std::filesystem::file_size(path);
  for (std::uint64_t limit = 0; limit < size; limit += limit < 600 || limit + 1500 > size ? 37 : 409) {
    const auto found = in_child([&]() -> std::string {
      std::signal(SIGXFSZ, SIG_DFL);
      limit_files_to(limit);
      return error_of([&] { state.write(path, 2); }, Code::failed);
    });
    ASSERT_EQ(
        found,
        path + ": the file cannot be written: File too large: free space on its disk, or name a file elsewhere")
        << limit;
    ASSERT_EQ(state.restored(path), 1) << limit;
    ASSERT_EQ(folder.names(), std::vector<std::string>{"state.h5"});
  }
}

// Repeats the test with a killed process.
TEST(CheckpointCrash, KillAnywhere_KeepsPreviousCheckpoint) {
  const Folder folder;
  const auto path = folder / "state.h5";
  Stepped state(24);
  state.write(path, 1);
  const auto size = std::filesystem::file_size(path);
  for (std::uint64_t limit = 0; limit < size; limit += 409) {
    const auto found = in_child([&]() -> std::string {
      g_ends_at = limit;
      state.write(path, 2);
      return "written";
    });
    ASSERT_FALSE(found) << *found;
    ASSERT_EQ(state.restored(path), 1) << limit;
  }
  state.write(path, 3);
  EXPECT_EQ(state.restored(path), 3);
}

TEST(CheckpointCrash, SigkillAtAnyMoment_LeavesCompleteCheckpoint) {
  const Folder folder;
  const auto path = folder / "state.h5";
  std::mt19937_64 random(std::random_device{}());
  Stepped state(200);
  state.write(path, 0);
  std::int64_t last = 0;
  for (int kills = 0; kills < 50; ++kills) {
    const auto child = fork();
    if (child == 0)
      for (auto step = last + 1;; ++step) state.write(path, step);
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 30'000));
    // Other programs can read it while it is replaced.
    if (kills % 2 == 0) last = std::max(last, state.restored(path));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    const auto step = state.restored(path);
    ASSERT_GE(step, last);
    last = step;
  }
  EXPECT_GT(last, 0);
}

// Truncates the datasets' backing file: the chain that reads it fails, and so does the next checkpoint.
TEST(CheckpointCrash, StreamFailure_KeepsPreviousCheckpoint) {
  const Folder folder;
  const auto path = folder / "state.h5";
  const auto data = path.substr(0, path.rfind('/'));
  const Options streamed{.executor = "streamed", .threads = 1, .memory = 64 * 4096, .folder = data};
  {
    Stepped state(300, streamed);
    state.write(path, 1);
    state.read();
    ASSERT_TRUE(empty_hidden_file(data));
    const auto lost =
        ": a read failed: Input/output error; what was computed since the last checkpoint is lost: begin again "
        "from it";
    auto error = error_of([&] { state.read(); }, Code::failed);
    EXPECT_TRUE(error.ends_with(lost)) << error;
    error = error_of([&] { state.write(path, 2); }, Code::failed);
    EXPECT_TRUE(error.ends_with(lost)) << error;
  }
  EXPECT_EQ(folder.names(), std::vector<std::string>{"state.h5"});
  EXPECT_EQ(Stepped(300, streamed).restored(path), 1);
}

// A dataset that cannot be written keeps the others of its file, and leaves nothing of itself.
TEST(CheckpointCrash, SizeLimit_KeepsOtherDatasetsOfFile) {
  const Folder folder;
  const auto path = folder / "data.h5";
  Context context(k_serial);
  const auto block = context.block("block", {4000});
  auto kept = block.dataset<double>("kept");
  const auto other = block.dataset<double>("other");
  std::mt19937_64 random(1);
  const auto numbers = random_numbers<double>(random, 4000);
  kept.set(kept.range(), numbers);
  write_hdf5(path, kept, "kept");
  const auto before = content_of(path);
  for (const std::uint64_t more : {0, 100, 20'000, 31'000}) {
    const auto found = in_child([&]() -> std::string {
      std::signal(SIGXFSZ, SIG_DFL);
      limit_files_to(before.size() + more);
      return error_of([&] { write_hdf5(path, other, "other"); }, Code::failed);
    });
    EXPECT_EQ(
        found,
        path + ": the file cannot be written: File too large: free space on its disk, or name a file elsewhere");
    read_hdf5(path, other, "kept");
    EXPECT_EQ(bytes_of(other), bytes_of(numbers));
    EXPECT_EQ(error_of([&] { read_hdf5(path, other, "other"); }, Code::not_found),
              path + ": the file has no dataset 'other': request one of 'kept'");
  }
  // A newly created file is removed.
  (void)in_child([&]() -> std::string {
    std::signal(SIGXFSZ, SIG_DFL);
    limit_files_to(5000);
    return error_of([&] { write_hdf5(folder / "new.h5", other, "other"); }, Code::failed);
  });
  EXPECT_EQ(folder.names(), std::vector<std::string>{"data.h5"});
}

}  // namespace
}  // namespace terrace::stencil::test
