// SPDX-License-Identifier: Apache-2.0
// Runs `scontrol show job` with a time limit, and shares its result between the launchers of a job on a node. See
// slurm_record.hpp.
#include "cli/slurm_record.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string_view>

#include "cli/journal_folder.hpp"
#include "core/error.hpp"
#include "memory/ledger/folder.hpp"

namespace terrace::cli {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds k_scontrol_limit{5};
constexpr std::size_t k_max_record = 16 << 20;  // bytes; a job of 10,000 nodes has about 1 MB
constexpr std::string_view k_prefix = "slurm-";
constexpr std::string_view k_ending = ".allocation";

// Returns the environment without LD_PRELOAD: scontrol needs no tool of the user's program.
std::vector<char*> environment_without_preload() {
  std::vector<char*> variables;
  for (char** one = environ; *one; ++one)
    if (!std::string_view(*one).starts_with("LD_PRELOAD=")) variables.push_back(*one);
  variables.push_back(nullptr);
  return variables;
}

// Reads the file until its end, the time limit or k_max_record. Returns nullopt at a limit.
std::optional<std::string> read_until(int fd, Clock::time_point end) {
  std::string text;
  char buffer[1 << 14];
  while (text.size() < k_max_record) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
    struct pollfd ready {
      fd, POLLIN, 0
    };
    const int found = left > 0 ? ::poll(&ready, 1, static_cast<int>(left)) : 0;
    if (found < 0 && errno == EINTR) continue;
    if (found <= 0) return std::nullopt;
    const auto size = ::read(fd, buffer, sizeof buffer);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return text;
    text.append(buffer, static_cast<std::size_t>(size));
  }
  return std::nullopt;
}

// Returns the output of `scontrol show job -d JOB`. Throws Error{failed} with the reason.
std::string run_scontrol(const std::string& job) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw Error(Code::failed, std::strerror(errno));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  std::string words[] = {"scontrol", "show", "job", "-d", job};
  std::vector<char*> arguments;
  for (auto& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  auto variables = environment_without_preload();
  pid_t process = 0;
  const int problem = ::posix_spawnp(&process, "scontrol", &actions, nullptr, arguments.data(), variables.data());
  posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  if (problem != 0) {
    ::close(ends[0]);
    throw Error(Code::failed, fmt::format("scontrol cannot be started: {}", std::strerror(problem)));
  }
  auto text = read_until(ends[0], Clock::now() + k_scontrol_limit);
  ::close(ends[0]);
  if (!text) ::kill(process, SIGKILL);
  int status = 0;
  while (::waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  if (!text)
    throw Error(Code::failed, fmt::format("scontrol has not answered within {} s", k_scontrol_limit.count()));
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    throw Error(Code::failed, fmt::format("`scontrol show job -d {}` has failed", job));
  return std::move(*text);
}

// Returns the names that this node may have in the record. mpirun may pass the SLURMD_NODENAME of its own node on
// to others, so the host's name comes first.
std::vector<std::string> names_of_this_node() {
  std::vector<std::string> names;
  char host[256] = "";
  if (::gethostname(host, sizeof host - 1) == 0 && host[0] != '\0') {
    names.emplace_back(host);
    if (const auto dot = names.front().find('.'); dot != std::string::npos)
      names.push_back(names.front().substr(0, dot));
  }
  if (auto name = environment("SLURMD_NODENAME"); !name.empty()) names.push_back(std::move(name));
  return names;
}

// The shared file has the text of add_counts()'s form, "gpu:2,hbm:4000", after '=', or '!' where none can be read.
std::string encode(const std::optional<GresCounts>& counts) {
  if (!counts) return "!";
  std::string text = "=";
  for (const auto& [name, count] : *counts)
    text += fmt::format("{}{}:{}", text.size() > 1 ? "," : "", name, count);
  return text;
}

std::optional<GresCounts> decode(std::string_view text) {
  if (!text.starts_with('=')) return std::nullopt;
  return find_gres_counts(fmt::format("JobId=1\nNodes=n GRES={}", text.substr(1)), "1", {"n"});
}

bool is_at(int fd, const std::string& path) {
  struct stat open {};
  struct stat named {};
  return ::fstat(fd, &open) == 0 && ::lstat(path.c_str(), &named) == 0 && open.st_ino == named.st_ino &&
         open.st_dev == named.st_dev;
}

int open_shared(const std::string& path, int flags) {
  return ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | flags, 0600);
}

// Opens the shared file, and holds a shared lock on it. Returns -1 if it cannot.
int open_locked(const std::string& path) {
  while (true) {
    const int fd = open_shared(path, O_CREAT);
    if (fd < 0) return -1;
    int locked = 0;
    do locked = ::flock(fd, LOCK_SH);
    while (locked != 0 && errno == EINTR);
    if (locked == 0 && is_at(fd, path)) return fd;
    ::close(fd);
    if (locked != 0) return -1;
  }
}

// Holds the file's content exclusively during its lifetime: one launcher runs scontrol, the others wait. This lock
// (fcntl) is independent of the lifetime's lock (flock).
class ScopedContentLock {
 public:
  explicit ScopedContentLock(int fd) : fd_(fd) { set(F_WRLCK); }
  ~ScopedContentLock() { set(F_UNLCK); }
  ScopedContentLock(const ScopedContentLock&) = delete;
  ScopedContentLock& operator=(const ScopedContentLock&) = delete;

 private:
  void set(short type) const {
    struct flock lock {};
    lock.l_type = type;
    while (fd_ >= 0 && ::fcntl(fd_, F_OFD_SETLKW, &lock) != 0 && errno == EINTR) {
    }
  }

  int fd_;
};

// Removes the file if no other launcher has locked it.
void remove_if_unused(int fd, const std::string& path) {
  if (::flock(fd, LOCK_EX | LOCK_NB) == 0 && is_at(fd, path)) ::unlink(path.c_str());
}

}  // namespace

SlurmAllocation::~SlurmAllocation() {
  if (fd_ < 0) return;
  remove_if_unused(fd_, path_);
  ::close(fd_);
}

void SlurmAllocation::read(const std::string& job, std::vector<std::string>& sentences) {
  is_read_ = true;
  const auto names = names_of_this_node();
  node_ = environment("SLURMD_NODENAME");
  if (node_.empty() && !names.empty()) node_ = names.back();
  try {
    // Nodes that share a machine (tests) share its memory, too: the node is a part of the name.
    const auto name = memory::ledger_file_name(job + "-" + node_);
    path_ = fmt::format("{}/{}{}{}", memory::make_ledger_folder(), k_prefix, name.substr(0, name.rfind('.')),
                        k_ending);
    fd_ = open_locked(path_);
  } catch (const Error&) {  // no shared folder: this launcher reads for itself
  }
  const ScopedContentLock content(fd_);
  char known[4096];
  const auto size = fd_ >= 0 ? ::pread(fd_, known, sizeof known, 0) : 0;
  if (size > 0) {
    is_first_ = false;
    counts_ = decode({known, static_cast<std::size_t>(size)});
  } else {
    try {
      counts_ = find_gres_counts(run_scontrol(job), job, names);
    } catch (const Error& error) {
      sentences.push_back(fmt::format(
          "the budget of Slurm job {} is not known ({}): give --budget to limit the run", job, error.what()));
    }
    const auto text = encode(counts_);
    // A file that cannot be written whole is empty, and the next launcher reads for itself.
    if (fd_ >= 0 && ::pwrite(fd_, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size()))
      static_cast<void>(!::ftruncate(fd_, 0));
  }
}

std::string SlurmAllocation::find_budget(const machine::Machine& machine, std::vector<std::string>& sentences) {
  const auto job = environment("SLURM_JOB_ID");
  if (job.empty() || machine.kinds().size() < 2) return {};
  const char* const stated = std::getenv("TERRACE_GRES");
  const auto units = stated ? parse_gres_units(stated) : default_gres_units(machine);
  if (units.empty()) return {};
  if (!is_read_) read(job, sentences);
  if (!counts_) return {};
  auto budget = budget_of_gres(machine, *counts_, units);
  if (is_first_ && !budget.empty())
    sentences.push_back(fmt::format(
        "the budget on {} is {}, from the generic resources of Slurm job {} ({}); --budget overrides it", node_,
        budget, job, encode(counts_).substr(1)));
  return budget;
}

void remove_stale_allocations() noexcept {
  try {
    for (const auto& folder : memory::ledger_folders()) {
      DIR* const list = ::opendir(folder.c_str());
      if (!list) continue;
      while (const auto* const entry = ::readdir(list)) {
        const std::string_view name(entry->d_name);
        if (!name.starts_with(k_prefix) || !name.ends_with(k_ending)) continue;
        const auto path = folder + "/" + std::string(name);
        const int fd = open_shared(path, 0);
        if (fd < 0) continue;
        remove_if_unused(fd, path);
        ::close(fd);
      }
      ::closedir(list);
    }
  } catch (const std::exception&) {  // out of memory
  }
}

}  // namespace terrace::cli
