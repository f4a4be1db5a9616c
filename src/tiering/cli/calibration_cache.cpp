// SPDX-License-Identifier: Apache-2.0
// Caches measured constants of the performance model in one file for each machine, initiator and number of cores:
// a CRC-32C of what follows, the key, the constants. See calibration_cache.hpp.
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
constexpr std::size_t k_max = 1 << 20;  // bytes of a file; hundreds of places need less

// Returns the key of an entry: everything that the constants depend on, this executable (device, inode, size, time
// of change) and the arguments. Returns nullopt if the executable cannot be identified.
std::optional<BlobWriter> make_key(const machine::Machine& machine, InitiatorId initiator, double cores) {
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

// Returns the content of a file that only this user can have written; empty if there is none.
std::vector<std::byte> read_own_file(const fs::path& path) {
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

// Returns the constants in an entry if its checksum and its key match.
std::optional<model::Calibration> read_entry(std::span<const std::byte> bytes, std::span<const std::byte> key) {
  try {
    BlobReader in(bytes);
    const auto sum = in.get<std::uint32_t>();
    if (crc32c(bytes.subspan(sizeof sum)) != sum) return std::nullopt;
    const auto size = in.get<std::uint32_t>();
    if (size != key.size() || std::memcmp(in.take(size), key.data(), size) != 0) return std::nullopt;
    auto constants = model::Calibration::from_blob(in);
    if (in.at_end()) return constants;
  } catch (const Error&) {  // truncated
  }
  return std::nullopt;
}

bool write_all(int file, std::span<const std::byte> bytes) {
  return write(file, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size());
}

// Writes an entry atomically: to a temporary file, which is then renamed. Ignores failures.
void store_entry(const fs::path& path, std::span<const std::byte> key, const model::Calibration& constants) {
  BlobWriter body;
  body.put(static_cast<std::uint32_t>(key.size()));
  std::memcpy(body.room(key.size()), key.data(), key.size());
  constants.to_blob(body);
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
  const auto key = make_key(machine, initiator, cores);
  if (!key) return sim::measure_calibration(machine, initiator, cores);
  const auto path = fs::path(cache) / fmt::format("{:08x}.calibration", crc32c(key->bytes()));
  if (const auto cached = read_entry(read_own_file(path), key->bytes())) return *cached;
  const auto measured = sim::measure_calibration(machine, initiator, cores);
  store_entry(path, key->bytes(), measured);
  return measured;
}

}  // namespace terrace::cli
