#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <terrace/bmem.hpp>
#include <thread>

namespace terrace::bmem {
namespace {

std::string error() { return bmem_last_error(); }

// The example of the study's section 4.3, as it stands there.
TEST(Bmem, ExampleOfTheStudy_Works) {
  ASSERT_EQ(bmem_init(1024, 65536, 16, 8), BMEM_OK);
  void* const ptr1 = bmem_malloc(4096, HORI);
  void* const ptr2 = bmem_malloc(128, VERT);
  void* const ptr3 = bmem_malloc_raw(2, 17);
  bmem_block where;
  ASSERT_EQ(bmem_block_of(ptr3, &where), BMEM_OK);
  EXPECT_EQ(where.subarrays, 2U);
  EXPECT_EQ(where.rows, 17U);
  EXPECT_EQ(where.bytes, 2U * 17 * 8192);
  bmem_usage usage;
  ASSERT_EQ(bmem_usage_of(&usage), BMEM_OK);
  EXPECT_EQ(usage.rows - usage.free_rows, 1U + 1 + 34);
  EXPECT_EQ(bmem_free(ptr1), BMEM_OK);
  EXPECT_EQ(bmem_free(ptr2), BMEM_OK);
  EXPECT_EQ(bmem_free(ptr3), BMEM_OK);
  EXPECT_EQ(bmem_dtor(), BMEM_OK);
}

TEST(Bmem, InvalidCall_StatesReason) {
  EXPECT_EQ(bmem_malloc(1, BMEM_HORI), nullptr);
  EXPECT_EQ(error(), "bmem_malloc: there is no device; call bmem_init first");
  EXPECT_EQ(bmem_dtor(), BMEM_NOT_READY);
  EXPECT_EQ(bmem_init(0, 64, 2, 2), BMEM_INVALID);
  EXPECT_EQ(error(), "bmem_init: rows: there are 0; there must be at least 1");
  ASSERT_EQ(bmem_init(4, 64, 2, 2), BMEM_OK);
  EXPECT_EQ(bmem_init(4, 64, 2, 2), BMEM_INVALID);
  EXPECT_EQ(error(), "bmem_init: there is a device already; call bmem_dtor first");
  EXPECT_EQ(bmem_malloc(0, BMEM_HORI), nullptr);
  EXPECT_NE(error().find("0 bytes"), std::string::npos);
  EXPECT_EQ(bmem_malloc(SIZE_MAX, BMEM_VERT), nullptr);
  EXPECT_NE(error().find("do not fit into a device of 128B"), std::string::npos) << error();
  EXPECT_EQ(bmem_malloc_raw(0, 1), nullptr);
  EXPECT_EQ(bmem_malloc_raw(5, 1), nullptr);
  EXPECT_EQ(bmem_malloc_request(nullptr, nullptr), BMEM_INVALID);
  EXPECT_EQ(bmem_free(nullptr), BMEM_OK);
  int mine = 0;
  EXPECT_EQ(bmem_free(&mine), BMEM_FOREIGN);
  void* const all = bmem_malloc_raw(4, 4);
  ASSERT_NE(all, nullptr);
  EXPECT_EQ(bmem_malloc(1, BMEM_HORI), nullptr);
  EXPECT_EQ(error(), "bmem_malloc: no rectangle of 1 rows x 1 subarrays is free");
  EXPECT_EQ(bmem_free(all), BMEM_OK);
  EXPECT_EQ(bmem_free(all), BMEM_RELEASED);
  EXPECT_EQ(error(), "bmem_free: the block was released before");
  bmem_block where;
  EXPECT_EQ(bmem_block_of(all, &where), BMEM_FOREIGN);
  EXPECT_EQ(bmem_dtor(), BMEM_OK);
  ASSERT_EQ(bmem_init(4, 64, 2, 2), BMEM_OK);
  EXPECT_EQ(bmem_free(all), BMEM_FOREIGN) << "a block of the device before";
  EXPECT_EQ(bmem_dtor(), BMEM_OK);
}

TEST(Bmem, LastError_IsPerThread) {
  EXPECT_EQ(bmem_malloc(1, BMEM_HORI), nullptr);
  std::thread([] { EXPECT_EQ(error(), ""); }).join();
  EXPECT_NE(error(), "");
}

TEST(Bmem, BlockDestructor_ReleasesBlock) {
  const Device device(1024, 65536, 16, 8, 2);
  const auto all = Device::usage().rows;
  EXPECT_EQ(all, 2U * 8 * 16 * 1024);
  {
    auto vector = elements(100'000, 64, BMEM_VERT);
    const auto operands = allocate_group(std::vector(3, vector), BMEM_SUBARRAY);
    ASSERT_EQ(operands.size(), 3U);
    EXPECT_EQ(operands[0].where().subarray, operands[2].where().subarray);
    EXPECT_EQ(operands[2].where().row, 128U);
    vector.beside = operands[0].handle();
    vector.share = BMEM_SUBARRAY;
    vector.row_alignment = 100;
    auto more = allocate(vector);
    EXPECT_EQ(more.where().row, 200U);
    const auto moved = std::move(more);
    EXPECT_EQ(Device::usage().free_rows, all - 4 * 128);
  }
  EXPECT_EQ(Device::usage().free_rows, all);
  EXPECT_TRUE(allocate_group(std::vector(3, raw(128, 1000)), BMEM_DEVICE).empty());
  EXPECT_THROW(allocate(raw(129, 1)), std::invalid_argument);
  EXPECT_THROW(Device(1, 8, 1, 1), std::invalid_argument) << "there is one";
}

TEST(Bmem, TraceVariable_RecordsRequests) {
  const auto file = std::filesystem::temp_directory_path() / ("bmem-" + std::to_string(getpid()) + ".pim");
  setenv("BMEM_TRACE", file.c_str(), 1);
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(bmem_init(16, 64, 2, 2), BMEM_OK);
    void* const block = bmem_malloc_raw(2, 3);
    EXPECT_EQ(bmem_malloc_raw(4, 15), nullptr);
    bmem_free(block);
    if (i == 0) bmem_malloc(8, BMEM_VERT);
    std::ifstream in(file.string() + (i == 0 ? "" : ".2"));  // contents as if the program were killed now
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    EXPECT_NE(text.find("devices=1 banks=2 subarrays=2 rows=16 columns=64\na 1 3 2 h = 0 0 0\n"),
              std::string::npos)
        << text;
    EXPECT_NE(text.find("= -\nf 1\n"), std::string::npos) << text;
    EXPECT_EQ(std::ranges::count(text, '\n'), i == 0 ? 5 : 4) << text;
    bmem_dtor();
  }
  setenv("BMEM_TRACE", "/nowhere/file", 1);
  EXPECT_EQ(bmem_init(16, 64, 2, 2), BMEM_OK) << "a program runs on without its trace";
  bmem_dtor();
  unsetenv("BMEM_TRACE");
  std::filesystem::remove(file);
  std::filesystem::remove(file.string() + ".2");
}

}  // namespace
}  // namespace terrace::bmem
