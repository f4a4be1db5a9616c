// SPDX-License-Identifier: Apache-2.0
// Finds the folder of this user's job ledgers and the files in it, for launchers and `terrace machine`. See
// folder.hpp.
#include "memory/ledger/folder.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "core/error.hpp"

namespace terrace::memory {

namespace {

constexpr std::string_view k_ending = ".ledger";
constexpr std::string_view k_part = ".part";
constexpr std::size_t k_max_name_length = 64;

std::string variable_or(const char* name, const char* otherwise) {
  const char* const value = std::getenv(name);
  return value && *value == '/' ? value : otherwise;
}

// Returns why the folder cannot be used, or "".
std::string problem_with(const std::string& path) {
  const int folder = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (folder < 0) return std::strerror(errno);
  struct stat status {};
  const bool known = ::fstat(folder, &status) == 0;
  ::close(folder);
  if (!known || status.st_uid != ::geteuid()) return "it belongs to another user";
  if ((status.st_mode & 077) != 0) return "other users may enter it: set its mode to 0700";
  return ::access(path.c_str(), W_OK | X_OK) == 0 ? "" : std::strerror(errno);
}

// Calls `body` with folder and name of each file in the usable ledger folders.
template <class Body>
void for_each_file(Body&& body) {
  for (const auto& folder : ledger_folders()) {
    if (!problem_with(folder).empty()) continue;
    DIR* const list = ::opendir(folder.c_str());
    if (!list) continue;
    while (const auto* entry = ::readdir(list)) body(folder, std::string_view(entry->d_name));
    ::closedir(list);
  }
}

}  // namespace

std::vector<std::string> ledger_folders() {
  const auto user = "/terrace-" + std::to_string(::geteuid());
  std::vector<std::string> folders;
  if (const auto session = variable_or("XDG_RUNTIME_DIR", ""); !session.empty())
    folders.push_back(session + "/terrace");
  folders.push_back("/dev/shm" + user);
  folders.push_back(variable_or("TMPDIR", "/tmp") + user);
  return folders;
}

std::string make_ledger_folder() {
  std::string problems;
  for (const auto& folder : ledger_folders()) {
    auto problem = ::mkdir(folder.c_str(), 0700) == 0 || errno == EEXIST ? "" : std::string(std::strerror(errno));
    if (problem.empty()) problem = problem_with(folder);
    if (problem.empty()) return folder;
    problems.append(problems.empty() ? "" : "; ").append(folder).append(": ").append(problem);
  }
  throw Error(Code::failed,
              "no folder for the ledger that a job's launches share; make one of these usable: " + problems);
}

std::vector<std::string> ledger_paths() {
  std::vector<std::string> paths;
  for_each_file([&](const std::string& folder, std::string_view name) {
    if (name.ends_with(k_ending)) paths.push_back(folder + "/" + std::string(name));
  });
  std::ranges::sort(paths);
  paths.erase(std::unique(paths.begin(), paths.end()), paths.end());  // clang 14 has no ranges::unique
  return paths;
}

std::string ledger_temporary_path(const std::string& path) {
  return path + "." + std::to_string(::getpid()) + ".part";
}

void remove_stale_temporaries() {
  for_each_file([](const std::string& folder, std::string_view name) {
    if (!name.ends_with(k_part) || name.find(std::string(k_ending) + ".") == std::string_view::npos) return;
    const auto stem = name.substr(0, name.size() - k_part.size());
    const auto number = std::string(stem.substr(stem.rfind('.') + 1));
    const auto process = static_cast<pid_t>(std::strtol(number.c_str(), nullptr, 10));
    if (process > 0 && ::kill(process, 0) != 0 && errno == ESRCH)
      ::unlink((folder + "/" + std::string(name)).c_str());
  });
}

std::string ledger_file_name(const std::string& job) {
  auto name = job.substr(0, k_max_name_length);
  const auto is_plain = [](char letter) {
    return (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'z') ||
           (letter >= 'A' && letter <= 'Z') || letter == '-' || letter == '_' || letter == '.';
  };
  for (auto& letter : name)
    if (!is_plain(letter)) letter = '_';
  if (name.empty() || name.front() == '.') name = "_" + name;
  return name + std::string(k_ending);
}

}  // namespace terrace::memory
