// See whole_file.hpp.
#include "core/whole_file.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "core/size_signal.hpp"

namespace terrace {

namespace fs = std::filesystem;

namespace {

std::string written(const fs::path& path, std::string_view content) {
  const WithoutSizeSignal without;
  errno = 0;
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(content.data(), static_cast<std::streamsize>(content.size()));
  file.close();
  return file ? std::string() : std::strerror(errno != 0 ? errno : EIO);
}

}  // namespace

std::string write_whole_file(const fs::path& path, std::string_view content) {
  std::error_code problem;
  const auto status = fs::status(path, problem);
  if (fs::exists(status) && !fs::is_regular_file(status)) return written(path, content);
  // A link stays one.
  const auto target = fs::exists(status) ? fs::canonical(path, problem) : path;
  const auto beside = target.string() + "." + std::to_string(::getpid()) + ".part";
  auto failed = written(beside, content);
  if (failed.empty()) {
    fs::rename(beside, target, problem);
    if (problem) failed = problem.message();
  }
  if (!failed.empty()) fs::remove(beside, problem);
  return failed;
}

}  // namespace terrace
