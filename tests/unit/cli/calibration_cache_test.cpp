// Tests that cached constants equal measured ones, and that damaged, foreign or writable files are ignored.
#include "cli/calibration_cache.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <vector>

#include "core/blob.hpp"
#include "machine/file/machine_file.hpp"
#include "sim/engine/calibrate.hpp"

namespace terrace::cli {
namespace {

namespace fs = std::filesystem;

machine::Machine shipped(const std::string& name) {
  const auto file = fs::path(TERRACE_SOURCE_DIR) / "machines" / (name + ".toml");
  return machine::load_machine(file.string()).machine;
}

std::vector<std::byte> blob_of(const model::Calibration& calibration) {
  BlobWriter out;
  calibration.to_blob(out);
  return {out.bytes().begin(), out.bytes().end()};
}

class CalibrationCache : public ::testing::Test {
 protected:
  CalibrationCache() {
    auto name = (fs::temp_directory_path() / "kept-calibration-XXXXXX").string();
    folder_ = mkdtemp(name.data());
  }
  ~CalibrationCache() override { fs::remove_all(folder_); }

  [[nodiscard]] std::vector<std::byte> ask() const { return blob_of(cached_calibration(cache(), machine_, 0, 3)); }
  [[nodiscard]] std::vector<std::byte> measured() const {
    return blob_of(sim::measure_calibration(machine_, 0, 3));
  }
  [[nodiscard]] std::string cache() const { return (folder_ / "cache").string(); }
  [[nodiscard]] fs::path file() const {
    std::vector<fs::path> all;
    for (const auto& entry : fs::directory_iterator(cache())) all.push_back(entry.path());
    EXPECT_EQ(all.size(), 1U);
    return all.at(0);
  }
  [[nodiscard]] std::string read() const {
    std::ifstream in(file(), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void write(const std::string& text) const { std::ofstream(file(), std::ios::binary) << text; }

  const machine::Machine machine_ = shipped("unimem-lat4");
  fs::path folder_;
};

// Changes the constants of an entry, with a valid checksum.
std::string with_other_constants(std::string text) {
  constexpr std::size_t k_of_the_end = 2 * sizeof(double);
  text.replace(text.size() - k_of_the_end, k_of_the_end, k_of_the_end, '\0');
  const auto sum = crc32c(std::as_bytes(std::span(text).subspan(4)));
  std::memcpy(text.data(), &sum, sizeof sum);
  return text;
}

TEST_F(CalibrationCache, FirstUse_EqualsMeasurement) {
  const auto truth = measured();
  EXPECT_EQ(ask(), truth);
  EXPECT_EQ(ask(), truth);
  static_cast<void>(file());
}

TEST_F(CalibrationCache, SecondUse_IsReadFromTheFile) {
  static_cast<void>(ask());
  write(with_other_constants(read()));
  EXPECT_NE(ask(), measured());
}

TEST_F(CalibrationCache, OtherArguments_HaveOtherEntries) {
  static_cast<void>(ask());
  const auto other = shipped("unimem-bw2");
  EXPECT_EQ(blob_of(cached_calibration(cache(), other, 0, 3)), blob_of(sim::measure_calibration(other, 0, 3)));
  EXPECT_EQ(blob_of(cached_calibration(cache(), machine_, 0, 5)),
            blob_of(sim::measure_calibration(machine_, 0, 5)));
}

TEST_F(CalibrationCache, DamagedEntry_IsMeasuredAgain) {
  const auto truth = measured();
  static_cast<void>(ask());
  const auto whole = read();
  for (std::size_t at = 0; at < whole.size(); at += 7) {
    auto damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x40);
    write(damaged);
    ASSERT_EQ(ask(), truth) << "byte " << at;
    ASSERT_EQ(read(), whole) << "it is written again";
  }
  for (const std::size_t length : {std::size_t{0}, std::size_t{3}, whole.size() / 2, whole.size() - 1}) {
    write(whole.substr(0, length));
    ASSERT_EQ(ask(), truth) << "cut to " << length;
  }
}

TEST_F(CalibrationCache, FileWritableByOthers_IsIgnored) {
  static_cast<void>(ask());
  write(with_other_constants(read()));
  ASSERT_EQ(::chmod(file().c_str(), 0666), 0);
  EXPECT_EQ(ask(), measured());
}

TEST_F(CalibrationCache, NoFolder_IsMeasured) {
  std::ofstream(cache()) << "a file where the folder should be";
  EXPECT_EQ(ask(), measured());
}

}  // namespace
}  // namespace terrace::cli
