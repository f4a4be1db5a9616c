// Tests single datasets in HDF5 files: bitwise round trips, refusal of mismatches, detection of damage.
#include "terrace/stencil/hdf5.hpp"

#include <gtest/gtest.h>
#include <hdf5.h>

#include <algorithm>
#include <array>

#include "child.hpp"
#include "io_files.hpp"
#include "stencil/data/slabs.hpp"

namespace terrace::stencil::test {
namespace {

std::ptrdiff_t number(std::mt19937_64& random, std::ptrdiff_t low, std::ptrdiff_t high) {
  return std::uniform_int_distribution<std::ptrdiff_t>(low, high)(random);
}

TEST(Slabs, AnySize_CoverRangeInOrder) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 500; ++i) {
    Range range;
    for (std::size_t d = 0; d < k_max_dims; ++d) {
      range.begin[d] = number(random, -5, 5);
      range.end[d] = range.begin[d] + number(random, 0, 6);
    }
    const auto most = static_cast<std::uint64_t>(number(random, 0, 60));
    std::vector<Point> found, expected;
    const auto add = [](std::vector<Point>& points, const Range& of) {
      for (auto z = of.begin[2]; z < of.end[2]; ++z)
        for (auto y = of.begin[1]; y < of.end[1]; ++y)
          for (auto x = of.begin[0]; x < of.end[0]; ++x) points.push_back({x, y, z});
    };
    for_slabs(range, most, [&](const Range& slab) {
      EXPECT_FALSE(slab.empty());
      EXPECT_LE(slab.points(), std::max<std::uint64_t>(most, 1));
      add(found, slab);
    });
    add(expected, range);
    ASSERT_EQ(found, expected) << i;
  }
}

struct Shape {
  std::vector<std::ptrdiff_t> size;
  Halo halo;
};

Shape random_shape(std::mt19937_64& random) {
  Shape shape;
  const auto dims = number(random, 1, 3);
  for (std::ptrdiff_t d = 0; d < dims; ++d) {
    shape.size.push_back(number(random, 1, dims == 1 ? 200 : 12));
    shape.halo.low[static_cast<std::size_t>(d)] = -number(random, 0, 3);
    shape.halo.high[static_cast<std::size_t>(d)] = number(random, 0, 3);
  }
  return shape;
}

template <class T>
class Hdf5Types : public testing::Test {};
using Numbers = testing::Types<double, float, std::int64_t, std::int32_t>;
TYPED_TEST_SUITE(Hdf5Types, Numbers);

TYPED_TEST(Hdf5Types, AnyType_RoundTripsBitwise) {
  const Folder folder;
  const auto path = folder / "data.h5";
  std::mt19937_64 random(7);
  for (int i = 0; i < 60; ++i) {
    const auto shape = random_shape(random);
    const auto name = (i % 3 == 0 ? "u" : "after/steps/u") + std::to_string(i);
    Context context(k_serial);
    const auto block = context.block("grid", shape.size);
    auto from = block.template dataset<TypeParam>("from", shape.halo);
    const auto numbers = random_numbers<TypeParam>(random, from.range().points());
    from.set(from.range(), numbers);
    write_hdf5(path, from, name);
    const auto to = block.template dataset<TypeParam>("to", shape.halo);
    read_hdf5(path, to, name);
    ASSERT_EQ(bytes_of(to), bytes_of(numbers)) << i;
    ASSERT_EQ(bytes_of(from), bytes_of(numbers)) << i;
  }
}

// A part overwrites an existing dataset; queued loops run before.
TEST(Hdf5, Part_IsOverwrittenAndReadAlone) {
  const Folder folder;
  const auto path = folder / "data.h5";
  Context context(k_serial);
  const auto grid = context.block("grid", {6, 4});
  auto u = grid.dataset<double>("u", {{-1, -1}, {1, 1}});
  for (const double factor : {1.0, 2.0}) {
    grid.loop(
        "set", grid.range(), [factor](auto at, auto i) { at() = factor * static_cast<double>(i[0] + 10 * i[1]); },
        write(u), index());
    write_hdf5(path, u, "u", grid.range());
  }
  auto v = grid.dataset<double>("v", {{-2, 0}, {2, 0}});
  read_hdf5(path, v, "u", grid.range());
  EXPECT_EQ(v.get(grid.range()), u.get(grid.range()));
  EXPECT_EQ(v.get(Point{5, 3, 0}), 70);
  EXPECT_EQ(v.get(Point{-1, 3, 0}), 0);
}

// Larger than one slab, cut in x, y or z.
TEST(Hdf5, DatasetOfSeveralSlabs_RoundTrips) {
  for (const auto& size : {std::vector<std::ptrdiff_t>{4'500'001}, {1'500'000, 3}, {301, 150, 100}}) {
    const Folder folder;
    Context context(k_serial);
    const auto block = context.block("block", size);
    auto u = block.dataset<double>("u");
    auto v = block.dataset<double>("v");
    auto most = context.maximum<double>();
    block.loop(
        "set", block.range(),
        [](auto at, auto i) { at() = static_cast<double>(i[0]) + 1e7 * static_cast<double>(i[1] + 1000 * i[2]); },
        write(u), index());
    write_hdf5(folder / "data.h5", u, "u");
    read_hdf5(folder / "data.h5", v, "u");
    block.loop(
        "compare", block.range(), [](auto a, auto b, auto into) { into(std::abs(a() - b())); }, read(u), read(v),
        into(most));
    EXPECT_EQ(most.value(), 0);
    EXPECT_GT(v.get(Point{size[0] - 1, 0, 0}), 0);
  }
}

struct Hdf5Refuses : testing::Test {
  Hdf5Refuses() { write_hdf5(path, u, "after/u"); }
  template <class T>
  std::string reading(const Dataset<T>& dataset, const std::string& name, Code code = Code::invalid) {
    return error_of([&] { read_hdf5(path, dataset, name); }, code);
  }

  Folder folder;
  std::string path = folder / "data.h5";
  Context context{k_serial};
  Block grid = context.block("grid", {6, 4});
  Dataset<double> u = grid.dataset<double>("u", {{-1, -1}, {1, 1}});
};

TEST_F(Hdf5Refuses, AnotherType_Throws) {
  const auto v = grid.dataset<float>("v", {{-1, -1}, {1, 1}});
  const auto text = path +
                    ": the dataset 'after/u' is float64 of -1..7 x -1..5 x 0..1, but float32 of "
                    "-1..7 x -1..5 x 0..1 was requested: name a file of the same program and size";
  EXPECT_EQ(reading(v, "after/u"), text);
  EXPECT_EQ(error_of([&] { write_hdf5(path, v, "after/u"); }, Code::invalid), text);
  EXPECT_EQ(reading(grid.dataset<std::int64_t>("n", {{-1, -1}, {1, 1}}), "after/u"),
            path +
                ": the dataset 'after/u' is float64 of -1..7 x -1..5 x 0..1, but int64 of -1..7 x -1..5 x 0..1 "
                "was requested: name a file of the same program and size");
}

TEST_F(Hdf5Refuses, AnotherRange_Throws) {
  EXPECT_EQ(reading(grid.dataset<double>("v"), "after/u"),
            path +
                ": the dataset 'after/u' is float64 of -1..7 x -1..5 x 0..1, but float64 of 0..6 x 0..4 x 0..1 "
                "was requested: name a file of the same program and size");
  // A range elsewhere with the same number of points.
  EXPECT_EQ(reading(grid.dataset<double>("v", {{0, -1}, {2, 1}}), "after/u"),
            path +
                ": the dataset 'after/u' is float64 of -1..7 x -1..5 x 0..1, but float64 of 0..8 x -1..5 x 0..1 "
                "was requested: name a file of the same program and size");
}

TEST_F(Hdf5Refuses, MissingName_Throws) {
  EXPECT_EQ(reading(u, "u", Code::not_found), path + ": the file has no dataset 'u': request one of 'after/u'");
  EXPECT_EQ(reading(u, "after/u/v", Code::not_found),
            path + ": the file has no dataset 'after/u/v': request one of 'after/u'");
  EXPECT_TRUE(reading(u, "after", Code::corrupt)
                  .starts_with(path + ": 'after' cannot be opened as a dataset: request another (HDF5: "));
  for (const std::string name : {"", "/", "/u", "u/", "a//u", "."})
    EXPECT_EQ(reading(u, name), path + ": '" + name +
                                    "' cannot be the name of a dataset in a file: choose one like 'u' or "
                                    "'after/u'");
  EXPECT_EQ(error_of([&] { read_hdf5(folder / "none.h5", u, "u"); }, Code::not_found),
            folder / "none.h5" + ": the file cannot be opened: No such file or directory: name another file");
}

TEST_F(Hdf5Refuses, NonNumericElements_Throw) {
  struct Pair {
    double a, b;
  };
  EXPECT_EQ(
      reading(grid.dataset<Pair>("pairs"), "after/u"),
      path +
          ": the dataset 'pairs' has elements of 16 bytes of a type that files cannot store: use double, float, "
          "std::int64_t or std::int32_t");
  EXPECT_NE(reading(grid.dataset<std::uint32_t>("counts"), "after/u").find("elements of 4 bytes"),
            std::string::npos);
}

TEST_F(Hdf5Refuses, RangeOutsideDataset_Throws) {
  EXPECT_EQ(
      error_of(
          [&] {
            write_hdf5(path, u, "v", {{0, 9}, {0, 4}});
          },
          Code::invalid),
      path +
          ": dataset 'u': 0..9 x 0..4 x 0..1 was requested, it has -1..7 x -1..5 x 0..1: request points inside");
}

TEST_F(Hdf5Refuses, OtherFile_Throws) {
  write_content(folder / "text", "step 3\n");
  EXPECT_EQ(error_of([&] { read_hdf5(folder / "text", u, "u"); }, Code::corrupt),
            folder / "text" +
                ": the file cannot be opened as an HDF5 file: name another file (HDF5: file signature not found)");
  EXPECT_EQ(error_of([&] { write_hdf5(folder / "text", u, "u"); }, Code::corrupt),
            folder / "text" +
                ": the file cannot be opened as an HDF5 file: name another file (HDF5: file signature not found)");
  EXPECT_EQ(content_of(folder / "text"), "step 3\n");
  const auto above = std::filesystem::path(path).parent_path().string();
  EXPECT_EQ(error_of([&] { read_hdf5(above, u, "u"); }, Code::failed),
            above + ": this is not a regular file: name another file");
}

// Changes each byte of a file in turn: reading must give the written values or an error. Returns the first
// failure.
std::string damaged_in_every_way() {
  const Folder folder;
  std::mt19937_64 random(3);
  Context context(k_serial);
  const auto grid = context.block("grid", {5, 3});
  auto u = grid.dataset<double>("u", {{-1, -1}, {1, 1}});
  const auto v = grid.dataset<double>("v", {{-1, -1}, {1, 1}});
  u.set(u.range(), random_numbers<double>(random, u.range().points()));
  const auto path = folder / "data.h5";
  write_hdf5(path, u, "after/u");
  const auto whole = content_of(path);
  const auto expected = bytes_of(u);
  auto found = 0;
  std::string wrong;
  const auto hold = [&](const std::string& content, std::size_t at) {
    write_content(path, content);
    try {
      read_hdf5(path, v, "after/u");
      if (bytes_of(v) != expected) wrong += "other numbers at " + std::to_string(at) + "; ";
    } catch (const Error& error) {
      ++found;
      if (std::string_view(error.what()).find('\n') != std::string_view::npos) wrong += error.what();
    }
  };
  for (std::size_t i = 0; i < whole.size(); ++i) {
    auto damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ static_cast<char>(1 << random() % 8));
    hold(damaged, i);
    damaged[i] = static_cast<char>(~whole[i]);
    hold(damaged, i);
    if (i % 4 == 0) hold(whole.substr(0, i), i);
  }
  return found < std::ssize(expected) ? "damage is not found" : wrong;
}

// Runs in a child: at exit HDF5 1.10 reports that it leaks resources of damaged files.
TEST(Hdf5, DamagedByte_IsDetected) { EXPECT_EQ(in_child(damaged_in_every_way), ""); }

// Files that another program wrote with plain HDF5.
struct Foreign : testing::Test {
  void make(hid_t type, const std::vector<hsize_t>& lengths, const void* numbers, hid_t in_memory,
            bool is_packed) {
    const auto file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    const auto space = H5Screate_simple(static_cast<int>(lengths.size()), lengths.data(), nullptr);
    const auto creation = H5Pcreate(H5P_DATASET_CREATE);
    if (is_packed) {
      auto chunk = lengths;
      for (auto& length : chunk) length = std::min<hsize_t>(length, 3);
      H5Pset_chunk(creation, static_cast<int>(chunk.size()), chunk.data());
      H5Pset_deflate(creation, 5);
    }
    const auto dataset = H5Dcreate2(file, "u", type, space, H5P_DEFAULT, creation, H5P_DEFAULT);
    EXPECT_GE(H5Dwrite(dataset, in_memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, numbers), 0);
    H5Dclose(dataset);
    H5Pclose(creation);
    H5Sclose(space);
    EXPECT_GE(H5Fclose(file), 0);
  }

  Folder folder;
  std::string path = folder / "foreign.h5";
  Context context{k_serial};
  Block grid = context.block("grid", {4, 3});
  Dataset<double> u = grid.dataset<double>("u");
};

TEST_F(Foreign, BigEndianChunked_IsRead) {
  std::array<double, 12> numbers{};
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = 0.1 * static_cast<double>(i);
  for (const auto& lengths : {std::vector<hsize_t>{3, 4}, {1, 3, 4}})
    for (const auto is_packed : {false, true}) {
      make(H5T_IEEE_F64BE, lengths, numbers.data(), H5T_NATIVE_DOUBLE, is_packed);
      u.set(u.range(), std::vector<double>(12));
      read_hdf5(path, u, "u");
      EXPECT_EQ(u.get(u.range()), std::vector<double>(numbers.begin(), numbers.end()));
    }
}

TEST_F(Foreign, OtherTypeOrShape_IsRefused) {
  const std::array<std::int16_t, 12> numbers{};
  const auto wanted =
      ", but float64 of 0..4 x 0..3 x 0..1 was requested: name a file of the same program and size";
  const auto refusal = [&] { return error_of([&] { read_hdf5(path, u, "u"); }, Code::invalid); };
  make(H5T_STD_U16LE, {3, 4}, numbers.data(), H5T_NATIVE_INT16, false);
  EXPECT_EQ(refusal(), path + ": the dataset 'u' is unsigned int16 of 4 x 3 x 1 points" + wanted);
  make(H5T_IEEE_F64LE, {4, 3}, numbers.data(), H5T_NATIVE_INT16, false);
  EXPECT_EQ(refusal(), path + ": the dataset 'u' is float64 of 3 x 4 x 1 points" + wanted);
  make(H5T_IEEE_F64LE, {12}, numbers.data(), H5T_NATIVE_INT16, false);
  EXPECT_EQ(refusal(), path + ": the dataset 'u' is float64 of 12 x 1 x 1 points" + wanted);
  make(H5T_IEEE_F64LE, {1, 1, 3, 4}, numbers.data(), H5T_NATIVE_INT16, false);
  EXPECT_EQ(refusal(), path + ": the dataset 'u' is float64 of 4 dimensions" + wanted);
}

// Our files are plain HDF5: x is the last dimension.
TEST_F(Foreign, WrittenFile_IsPlainHdf5) {
  std::vector<double> numbers(12);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<double>(i);
  u.set(u.range(), numbers);
  save(context, path);
  const auto file = H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  const auto dataset = H5Dopen2(file, "grid/u", H5P_DEFAULT);
  std::array<double, 12> found{};
  std::array<hsize_t, 2> lengths{};
  const auto space = H5Dget_space(dataset);
  EXPECT_EQ(H5Sget_simple_extent_ndims(space), 2);
  H5Sget_simple_extent_dims(space, lengths.data(), nullptr);
  EXPECT_EQ(lengths, (std::array<hsize_t, 2>{3, 4}));
  EXPECT_GE(H5Dread(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, found.data()), 0);
  EXPECT_EQ(std::vector<double>(found.begin(), found.end()), numbers);
  H5Sclose(space);
  H5Dclose(dataset);
  H5Fclose(file);
}

}  // namespace
}  // namespace terrace::stencil::test
