// Tests failures of transfers: full disk, truncated file, failing device. The chain ends with a one-line error,
// and so does each later call; no call waits forever, and no stale value is returned.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>

#include <csignal>
#include <fstream>

#include "child.hpp"
#include "core/error.hpp"
#include "failing_backend.hpp"
#include "hidden_file.hpp"
#include "refusal.hpp"
#include "stencil/engine/engine.hpp"
#include "terrace/stencil.hpp"

namespace terrace::stencil::test::stream_failures {
namespace {

constexpr std::ptrdiff_t k_width = 512, k_height = 128;
constexpr std::uint64_t k_memory = 64 * 4096;  // two datasets of at least 128 pages have part of it
constexpr auto k_lost = "; what was computed since the last checkpoint is lost: begin again from it";

// Two datasets that are repeatedly added to one another, or only read.
struct Program {
  explicit Program(Context&& own) : context(std::move(own)) {}
  explicit Program(const std::string& folder)
      : Program(Context(Options{.executor = "streamed", .threads = 1, .memory = k_memory, .folder = folder})) {}

  void start() {
    block.loop(
        "start", block.range(), [](auto to, auto at) { to() = static_cast<double>(at[0] + at[1]); }, write(u),
        index());
    context.run();
  }
  void add() {
    block.loop(
        "add", block.range(), [](auto to, auto from) { to() += from(); }, read_write(v), read(u));
    block.loop(
        "and back", block.range(), [](auto to, auto from) { to() = 0.5 * from(); }, write(u), read(v));
    context.run();
  }
  double total() {
    block.loop(
        "total", block.range(), [](auto from, auto all) { all += from(); }, read(u), into(sum));
    return sum.value();
  }
  // Runs several chains; returns the error text of the one that failed.
  std::string error() {
    try {
      start();
      for (int i = 0; i < 6; ++i) add();
      total();
    } catch (const Error& error) {
      return error.code() == Code::failed ? error.what() : std::string("another code: ") + error.what();
    }
    return "no error";
  }

  Context context;
  Block block = context.block("block", {k_width, k_height});
  Dataset<double> u = block.dataset<double>("u");
  Dataset<double> v = block.dataset<double>("v");
  Sum<double> sum = context.sum<double>();
};

// Returns the error text of a call that failed.
template <class Action>
std::string said(Action action) {
  return refusal(action, Code::failed);
}

// Fails each fetch and each store in turn, the first and the last included.
class StreamFailure : public testing::TestWithParam<Failure::Kind> {};

TEST_P(StreamFailure, AnyCopyFails_EndsChainAndLaterOnes) {
  const auto is_read = GetParam() == Failure::Kind::fetches;
  const auto expected = "datasets in memory: " + std::string(is_read ? "a read" : "a write") +
                        " failed: the device is gone" + k_lost;
  const Options options{.executor = "streamed", .threads = 2, .memory = k_memory};
  std::size_t failed = 0, of_later = 0;
  for (std::size_t number = 0;; number += number < 40 ? 1 : 97) {
    const FailingVariant variant({GetParam(), number, "the device is gone"});
    Program program(Context(std::make_unique<Engine>(options, variant, nullptr)));
    const auto error = program.error();
    if (error == "no error") {
      // There were fewer transfers. A late one may have been for a chain that never began.
      const auto moved = is_read ? program.context.statistics().bytes_in : program.context.statistics().bytes_out;
      EXPECT_GE(static_cast<double>(number) + 20, moved / 4096);
      break;
    }
    ASSERT_EQ(error, expected) << number;
    ++failed;
    // Queued loops are discarded, and later calls get the same error.
    EXPECT_EQ(said([&] { (void)program.total(); }), expected);
    EXPECT_EQ(said([&] { (void)program.u.get(Point{3, 4, 0}); }), expected);
    EXPECT_EQ(said([&] { program.u.set({{0, 1}, {0, 1}}, std::vector{1.0}); }), expected);
    of_later += number >= 40 ? 1 : 0;
  }
  EXPECT_GE(failed, 40U);
  EXPECT_GT(of_later, 0U);
}

INSTANTIATE_TEST_SUITE_P(Copies, StreamFailure, testing::Values(Failure::Kind::fetches, Failure::Kind::stores),
                         [](const auto& tested) { return tested.index == 0 ? "Fetches" : "Stores"; });

// The file ends where a chunk is read.
TEST(StreamFile, ShortRead_IsReported) {
  const auto folder = testing::TempDir();
  Program program(folder);
  program.start();
  const auto whole = program.total();
  EXPECT_EQ(whole, 0.5 * k_width * k_height * (k_width - 1 + k_height - 1));
  // Everything is in the file, and nothing is written any more.
  for (int i = 0; i < 3; ++i) ASSERT_EQ(program.total(), whole);
  ASSERT_TRUE(empty_hidden_file(folder));
  const auto text = said([&] {
    for (int i = 0; i < 3; ++i) EXPECT_EQ(program.total(), whole);  // from what is still resident
  });
  const auto end = std::string(": a read failed: Input/output error") + k_lost;
  EXPECT_EQ(text.rfind("datasets in ", 0), 0U) << text;
  EXPECT_TRUE(text.ends_with(end)) << text;
  EXPECT_EQ(said([&] { (void)program.total(); }), text);
}

// Returns what `action` reports in a child in which every write to a file fails, also in reserved blocks. The
// accompanying signal would kill the process.
template <class Action>
auto in_child_without_room(Action action) {
  return in_child([&]() -> std::string {
    Program program(testing::TempDir());
    program.start();
    std::signal(SIGXFSZ, SIG_DFL);
    const rlimit limit{0, 0};
    setrlimit(RLIMIT_FSIZE, &limit);
    return action(program);
  });
}

TEST(StreamFile, RefusedWrite_IsReported) {
  const auto found = in_child_without_room([](Program& program) { return program.error(); });
  ASSERT_TRUE(found);
  EXPECT_EQ(found->rfind("datasets in ", 0), 0U) << *found;
  EXPECT_TRUE(found->ends_with(std::string(": a write failed: File too large") + k_lost)) << *found;
}

// Tests the same for values that a program sets, which are written chunk by chunk.
TEST(StreamFile, RefusedSet_IsReported) {
  const auto found = in_child_without_room([](Program& program) {
    return said([&] {
      for (std::ptrdiff_t y = 0; y < k_height; ++y) program.v.set({{0, 1}, {y, y + 1}}, std::vector{1.0});
    });
  });
  ASSERT_TRUE(found);
  EXPECT_NE(found->find("a write failed: File too large"), std::string::npos) << *found;
}

TEST(StreamFile, MissingFolder_IsNamed) {
  const auto expected =
      "folder=/nowhere: no file for memory in /nowhere: No such file or directory; name a writable folder on a "
      "disk";
  EXPECT_EQ(said([&] { const Program program("/nowhere"); }), expected);
  Options paged{.executor = "tiled", .threads = 1, .folder = "/nowhere"};
  paged.is_paged = true;
  EXPECT_EQ(said([&] { const Program program{Context(paged)}; }), expected);
}

// Mounts a disk of 3 MiB that only the child sees.
bool mount_small_disk(const std::string& folder) {
  return unshare(CLONE_NEWNS) == 0 && mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         mount("none", folder.c_str(), "tmpfs", 0, "size=3m") == 0;
}

void fill(const std::string& path) {
  std::ofstream file(path, std::ios::binary);
  const std::string piece(4096, 'x');
  while (file.write(piece.data(), std::ssize(piece)).flush()) {
  }
}

TEST(StreamFile, FullDisk_IsReported) {
  const auto folder = testing::TempDir() + "full-disk";
  std::filesystem::create_directories(folder);
  const auto found = in_child([&]() -> std::string {
    if (!mount_small_disk(folder)) return "no mount";
    // A dataset that does not fit is refused at once; existing ones keep working.
    Program program(folder);
    const auto refused = said([&] { (void)program.block.dataset<double>("more", {{0, 0}, {0, 900}}); });
    if (refused.rfind("no space for the dataset 'more', 4180KiB, in folder=" + folder + ", which has ", 0) != 0 ||
        refused.find("iB free: No space left on device: ") == std::string::npos ||
        !refused.ends_with(": set folder=PATH to another disk, or choose a smaller problem"))
      return "more: " + refused;
    program.start();
    program.add();
    // Other files take the space that the file had.
    if (!empty_hidden_file(folder)) return "no file";
    fill(folder + "/other");
    return program.error();
  });
  std::filesystem::remove_all(folder);
  ASSERT_TRUE(found);
  if (*found == "no mount") GTEST_SKIP() << "this process may not mount; the others do without";
  EXPECT_EQ(*found, "datasets in " + folder + ": a write failed: No space left on device" + k_lost);
}

}  // namespace
}  // namespace terrace::stencil::test::stream_failures
