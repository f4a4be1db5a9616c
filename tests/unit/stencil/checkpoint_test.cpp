// Tests checkpoints: all datasets and named numbers are restored or an error states why not; damage anywhere is
// detected.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>

#include <limits>

#include "io_files.hpp"

namespace terrace::stencil::test {
namespace {

// Two blocks, all number types, and names with characters that HDF5 reserves.
struct State {
  Context context{k_serial};
  Block grid = context.block("grid", {6, 4, 3});
  Block line = context.block("a/b", {17});
  Dataset<double> u = grid.dataset<double>("u", {{-1, -1, -1}, {1, 1, 1}});
  Dataset<float> f = grid.dataset<float>("50%");
  Dataset<std::int64_t> n = line.dataset<std::int64_t>("u", {{-2}, {0}});
  Dataset<std::int32_t> m = line.dataset<std::int32_t>("");
  Dataset<std::int32_t> dot = line.dataset<std::int32_t>(".");
  Checkpoint checkpoint{context};

  void fill(std::uint64_t seed) {
    std::mt19937_64 random(seed);
    u.set(u.range(), random_numbers<double>(random, u.range().points()));
    f.set(f.range(), random_numbers<float>(random, f.range().points()));
    n.set(n.range(), random_numbers<std::int64_t>(random, n.range().points()));
    m.set(m.range(), random_numbers<std::int32_t>(random, m.range().points()));
    dot.set(dot.range(), random_numbers<std::int32_t>(random, dot.range().points()));
    checkpoint.set("step", seed);
    checkpoint.set("time / s", 0.1 * static_cast<double>(seed));
  }
  std::string bytes() { return bytes_of(u) + bytes_of(f) + bytes_of(n) + bytes_of(m) + bytes_of(dot); }
};

TEST(Checkpoints, Restore_IsBitwiseEqual) {
  const Folder folder;
  const auto path = folder / "state.h5";
  State state;
  for (std::uint64_t seed = 1; seed < 6; ++seed) {
    state.fill(seed);
    state.checkpoint.set("infinity", std::numeric_limits<double>::infinity());
    state.checkpoint.set("largest", std::numeric_limits<std::int64_t>::max());
    state.checkpoint.write(path);
    State other;
    other.fill(100);
    other.checkpoint.set("not there", 1);
    other.checkpoint.restore(path);
    EXPECT_EQ(other.bytes(), state.bytes());
    EXPECT_EQ(other.checkpoint.integer("step"), static_cast<std::int64_t>(seed));
    EXPECT_EQ(other.checkpoint.real("time / s"), 0.1 * static_cast<double>(seed));
    EXPECT_EQ(other.checkpoint.real("infinity"), std::numeric_limits<double>::infinity());
    EXPECT_EQ(other.checkpoint.integer("largest"), std::numeric_limits<std::int64_t>::max());
    EXPECT_EQ(error_of([&] { (void)other.checkpoint.integer("not there"); }, Code::not_found),
              "the checkpoint has no integer number 'not there'; it has 'infinity' (real), 'largest' (integer), "
              "'step' (integer), 'time / s' (real): request one of these");
    EXPECT_NE(error_of([&] { (void)other.checkpoint.real("step"); }, Code::not_found), "no error");
  }
  EXPECT_EQ(folder.names(), std::vector<std::string>{"state.h5"});
}

// Many numbers, and none.
TEST(Checkpoints, ManyDatasetsAndNumbers_AreRestored) {
  const Folder folder;
  const auto path = folder / "state.h5";
  for (const auto count : {0, 1, 40}) {
    Context context(k_serial);
    const auto block = context.block("block", {3});
    std::vector<Dataset<double>> all;
    Checkpoint checkpoint(context);
    for (int i = 0; i < count; ++i) {
      all.push_back(block.dataset<double>("d" + std::to_string(i)));
      all.back().set(all.back().range(), std::vector<double>(3, i));
      checkpoint.set("n" + std::to_string(i), i);
    }
    checkpoint.write(path);
    for (auto& dataset : all) dataset.set(dataset.range(), std::vector<double>(3));
    checkpoint.restore(path);
    for (int i = 0; i < count; ++i) {
      EXPECT_EQ(all[static_cast<std::size_t>(i)].get(Point{2, 0, 0}), i);
      EXPECT_EQ(checkpoint.integer("n" + std::to_string(i)), i);
    }
  }
}

// Queued loops run before the checkpoint is written, and before it is restored.
TEST(Checkpoints, QueuedLoops_RunFirst) {
  const Folder folder;
  const auto path = folder / "state.h5";
  Context context({.executor = "tiled", .threads = 2});
  const auto block = context.block("block", {40, 40});
  auto u = block.dataset<double>("u");
  const auto add = [&](double what) {
    block.loop(
        "add", block.range(), [what](auto at) { at() += what; }, increment(u));
  };
  add(1);
  add(2);
  save(context, path);
  add(4);
  restore(context, path);
  EXPECT_EQ(u.get(u.range()), std::vector<double>(1600, 3));
}

// Creates a context with the function's datasets and returns the error of restoring.
template <class Make>
std::string restoring(const std::string& path, Make make, Code code = Code::invalid) {
  Context context(k_serial);
  make(context);
  return error_of([&] { restore(context, path); }, code);
}

TEST(Checkpoints, CheckpointOfOtherDatasets_IsRefused) {
  const Folder folder;
  const auto path = folder / "state.h5";
  {
    Context context(k_serial);
    const auto grid = context.block("grid", {6, 4});
    (void)grid.dataset<double>("u", {{-1, -1}, {1, 1}});
    (void)grid.dataset<std::int32_t>("n");
    save(context, path);
  }
  const auto wanted = " was requested: name a file of the same program and size";
  EXPECT_EQ(restoring(path,
                      [](Context& context) {
                        const auto grid = context.block("grid", {8, 4});
                        (void)grid.dataset<double>("u", {{-1, -1}, {1, 1}});
                      }),
            path +
                ": the dataset 'grid/u' is float64 of -1..7 x -1..5 x 0..1, but float64 of -1..9 x -1..5 x 0..1" +
                wanted);
  EXPECT_EQ(restoring(path,
                      [](Context& context) {
                        const auto grid = context.block("grid", {6, 4});
                        (void)grid.dataset<float>("u", {{-1, -1}, {1, 1}});
                      }),
            path +
                ": the dataset 'grid/u' is float64 of -1..7 x -1..5 x 0..1, but float32 of -1..7 x -1..5 x 0..1" +
                wanted);
  // Uses another type of the same size in bytes.
  EXPECT_EQ(
      restoring(path,
                [](Context& context) {
                  const auto grid = context.block("grid", {6, 4});
                  (void)grid.dataset<float>("n");
                }),
      path + ": the dataset 'grid/n' is int32 of 0..6 x 0..4 x 0..1, but float32 of 0..6 x 0..4 x 0..1" + wanted);
  EXPECT_EQ(restoring(
                path,
                [](Context& context) {
                  (void)context.block("mesh", {6, 4}).dataset<float>("u");
                },
                Code::not_found),
            path + ": the file has no dataset 'mesh/u': request one of 'grid/n', 'grid/u'");
  EXPECT_EQ(
      restoring(path,
                [](Context& context) {
                  const auto grid = context.block("grid", {6, 4});
                  (void)grid.dataset<double>("u", {{-1, -1}, {1, 1}});
                }),
      path +
          ": the checkpoint has a dataset 'grid/n', which this program does not have: name a file of the same "
          "program and size");
}

// Nothing is changed before everything is validated.
TEST(Checkpoints, RefusedRestore_ChangesNothing) {
  const Folder folder;
  const auto path = folder / "state.h5";
  State state;
  state.fill(1);
  state.checkpoint.write(path);
  State other;
  other.fill(2);
  (void)other.line.dataset<double>("more");
  const auto before = other.bytes();
  EXPECT_NE(error_of([&] { other.checkpoint.restore(path); }, Code::not_found), "no error");
  EXPECT_EQ(other.bytes(), before);
  EXPECT_EQ(other.checkpoint.integer("step"), 2);
}

TEST(Checkpoints, InvalidName_IsRefused) {
  const Folder folder;
  const auto path = folder / "state.h5";
  Context context(k_serial);
  const auto block = context.block("block", {4});
  (void)block.dataset<double>("u");
  Checkpoint checkpoint(context);
  checkpoint.set("", 1);
  EXPECT_EQ(error_of([&] { checkpoint.write(path); }, Code::invalid),
            path + ": the name of a number in the checkpoint is empty, or has a zero byte: rename it");
  // A duplicate name is refused as soon as both the dataset and the checkpoint exist.
  const auto text =
      "two datasets are called 'u' in the block 'block', which a checkpoint cannot tell apart: name one of them "
      "otherwise";
  EXPECT_EQ(error_of([&] { (void)block.dataset<float>("u"); }, Code::invalid), text);
  EXPECT_EQ(error_of([&] { (void)context.block("block", {3}).dataset<float>("u"); }, Code::invalid), text);
  (void)block.temporary<double>("u");
  (void)context.block("other", {4}).dataset<double>("u");
  Context twins(k_serial);
  const auto their_block = twins.block("block", {4});
  (void)their_block.dataset<double>("u");
  (void)their_block.dataset<float>("u");
  EXPECT_EQ(error_of([&] { Checkpoint{twins}; }, Code::invalid), text);
  EXPECT_EQ(error_of([&] { save(twins, path); }, Code::invalid), text);
  Context other(k_serial);
  (void)other.block("block", {4}).dataset<std::uint64_t>("flags");
  EXPECT_EQ(
      error_of([&] { save(other, path); }, Code::invalid),
      path +
          ": the dataset 'flags' has elements of 8 bytes of a type that files cannot store: use double, float, "
          "std::int64_t or std::int32_t");
  EXPECT_TRUE(folder.names().empty());
}

// Every byte changed and every length truncated: never other values than the written ones.
TEST(Checkpoints, DamageAnywhere_IsDetected) {
  const Folder folder;
  const auto path = folder / "state.h5";
  State state;
  state.fill(1);
  state.checkpoint.write(path);
  const auto whole = content_of(path);
  std::mt19937_64 random(5);
  State other;
  const auto is_found = [&](const std::string& content) {
    write_content(path, content);
    try {
      other.checkpoint.restore(path);
    } catch (const Error& error) {
      const std::string text = error.what();
      EXPECT_TRUE(text.starts_with(path + ": ")) << text;
      EXPECT_EQ(text.find('\n'), std::string::npos) << text;
      return true;
    }
    return false;
  };
  for (std::size_t i = 0; i < whole.size(); ++i) {
    auto damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ static_cast<char>(1 << random() % 8));
    EXPECT_TRUE(is_found(damaged)) << "byte " << i;
    EXPECT_TRUE(i % 3 != 0 || is_found(whole.substr(0, i))) << "length " << i;
  }
  for (int i = 0; i < 200; ++i) {
    // A lost or misplaced page or sector.
    auto damaged = whole;
    const auto at = random() % (whole.size() - 512);
    for (std::size_t k = at; k < at + 512; ++k) damaged[k] = i % 2 == 0 ? '\0' : static_cast<char>(random());
    EXPECT_EQ(is_found(damaged), damaged != whole) << "bytes from " << at;
  }
  EXPECT_TRUE(is_found(whole + '\0'));
  EXPECT_FALSE(is_found(whole));
  EXPECT_EQ(other.bytes(), state.bytes());
}

TEST(Checkpoints, OtherFile_IsRefused) {
  const Folder folder;
  Context context(k_serial);
  auto u = context.block("block", {4}).dataset<double>("u");
  const auto plain = folder / "plain.h5";
  write_hdf5(plain, u, "block/u");
  const auto text = ": this is no checkpoint, or its header is damaged: name a file that Checkpoint::write made";
  EXPECT_EQ(error_of([&] { restore(context, plain); }, Code::invalid), plain + text);
  write_content(folder / "empty", "");
  EXPECT_EQ(error_of([&] { restore(context, folder / "empty"); }, Code::invalid), folder / "empty" + text);
  EXPECT_EQ(error_of([&] { restore(context, folder / "none"); }, Code::not_found),
            folder / "none" + ": the file cannot be opened: No such file or directory: name another file");
}

TEST(Checkpoints, UnwritablePath_IsRefused) {
  const Folder folder;
  State state;
  state.fill(1);
  EXPECT_EQ(error_of([&] { state.checkpoint.write(folder / "none/state.h5"); }, Code::failed),
            folder / "none/state.h5" + ": " + folder / "none/state.h5.part" +
                " cannot be created: No such file or directory: name a file in a writable folder");
  std::filesystem::create_directory(folder / "folder");
  EXPECT_EQ(error_of([&] { state.checkpoint.write(folder / "folder"); }, Code::failed),
            folder / "folder" + ": this is not a regular file: name another file");
  // A symbolic link stays a link.
  write_content(folder / "folder/state.h5", "");
  std::filesystem::create_symlink("folder/state.h5", folder / "link.h5");
  state.checkpoint.write(folder / "link.h5");
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link.h5"));
  State other;
  other.checkpoint.restore(folder / "folder/state.h5");
  EXPECT_EQ(other.bytes(), state.bytes());
  // A killed program's partial file does not matter.
  write_content(folder / "folder/state.h5.part", std::string(100'000, 'x'));
  state.fill(2);
  state.checkpoint.write(folder / "folder/state.h5");
  other.checkpoint.restore(folder / "link.h5");
  EXPECT_EQ(other.bytes(), state.bytes());
}

// Two programs that write the same checkpoint do not mix.
TEST(Checkpoints, ConcurrentWriter_IsRefused) {
  const Folder folder;
  const auto path = folder / "state.h5";
  State state;
  state.fill(1);
  const auto other = open((path + ".part").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_EQ(flock(other, LOCK_EX), 0);
  EXPECT_EQ(error_of([&] { state.checkpoint.write(path); }, Code::failed),
            path + ": another program has this file open: wait until it ends, or name another file");
  close(other);
  state.checkpoint.write(path);
  // A complete checkpoint can be read despite a lock: its writer holds one for a moment after the rename.
  const auto writer = open(path.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_EQ(flock(writer, LOCK_EX), 0);
  EXPECT_NO_THROW(state.checkpoint.restore(path));
  close(writer);
}

}  // namespace
}  // namespace terrace::stencil::test
