// One file for each machine, initiator and number of cores. See calibration_cache.hpp.
#include "cli/calibration_cache.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <optional>
#include <span>
#include <system_error>
#include <vector>

#include "core/blob.hpp"
#include "sim/engine/calibrate.hpp"

namespace terrace::cli {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view k_format = "terrace calibration 1";
constexpr std::size_t k_max = 1 << 20;  // bytes of a file; one of a machine with hundreds of places is smaller

// All that the constants follow from: the build that measures, and what it is asked. Nothing where the build
// cannot be told.
std::optional<BlobWriter> question(const machine::Machine& machine, InitiatorId initiator, double cores) {
  struct stat build {};
  if (::stat("/proc/self/exe", &build) != 0) return std::nullopt;
  BlobWriter out;
  out.put(k_format);
  out.put(static_cast<std::uint64_t>(build.st_dev));
  out.put(static_cast<std::uint64_t>(build.st_ino));
  out.put(static_cast<std::int64_t>(build.st_size));
  out.put(static_cast<std::int64_t>(build.st_mtim.tv_sec));
  out.put(static_cast<std::int64_t>(build.st_mtim.tv_nsec));
  machine.to_blob(out);
  out.put(initiator);
  out.put(cores);
  return out;
}

bool is_own(const struct stat& status) {
  return status.st_uid == geteuid() && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

// Empty where there is none that only this user can have written.
std::vector<std::byte> read_own(const fs::path& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (file < 0) return {};
  struct stat status {};
  std::vector<std::byte> bytes;
  if (fstat(file, &status) == 0 && S_ISREG(status.st_mode) && is_own(status) && status.st_size > 0 &&
      static_cast<std::size_t>(status.st_size) <= k_max) {
    bytes.resize(static_cast<std::size_t>(status.st_size));
    if (read(file, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) bytes.clear();
  }
  close(file);
  return bytes;
}

// A sum of all that follows, the question, the answer.
std::optional<model::Calibration> answer_in(std::span<const std::byte> bytes, std::span<const std::byte> asked) {
  try {
    BlobReader in(bytes);
    const auto sum = in.get<std::uint32_t>();
    if (crc32c(bytes.subspan(sizeof sum)) != sum) return std::nullopt;
    const auto size = in.get<std::uint32_t>();
    if (size != asked.size() || std::memcmp(in.take(size), asked.data(), size) != 0) return std::nullopt;
    auto answer = model::Calibration::from_blob(in);
    if (in.at_end()) return answer;
  } catch (const Error&) {  // cut off
  }
  return std::nullopt;
}

bool write_all(int file, std::span<const std::byte> bytes) {
  return write(file, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size());
}

// Whole or not at all; what cannot be written is measured again the next time.
void keep(const fs::path& path, std::span<const std::byte> asked, const model::Calibration& answer) {
  BlobWriter body;
  body.put(static_cast<std::uint32_t>(asked.size()));
  std::memcpy(body.room(asked.size()), asked.data(), asked.size());
  answer.to_blob(body);
  BlobWriter head;
  head.put(crc32c(body.bytes()));
  std::error_code failed;
  fs::create_directories(path.parent_path(), failed);
  auto temporary = path.string() + ".XXXXXX";
  const int file = mkostemp(temporary.data(), O_CLOEXEC);
  if (file < 0) return;
  const bool is_whole = write_all(file, head.bytes()) && write_all(file, body.bytes());
  if (close(file) != 0 || !is_whole || rename(temporary.c_str(), path.c_str()) != 0) unlink(temporary.c_str());
}

}  // namespace

model::Calibration cached_calibration(const std::string& cache, const machine::Machine& machine,
                                      InitiatorId initiator, double cores) {
  const auto asked = question(machine, initiator, cores);
  if (!asked) return sim::measure_calibration(machine, initiator, cores);
  const auto path = fs::path(cache) / fmt::format("{:08x}.calibration", crc32c(asked->bytes()));
  if (const auto known = answer_in(read_own(path), asked->bytes())) return *known;
  const auto measured = sim::measure_calibration(machine, initiator, cores);
  keep(path, asked->bytes(), measured);
  return measured;
}

}  // namespace terrace::cli
