// SPDX-License-Identifier: Apache-2.0
// Reads from /proc whether the owner of a ledger's slot is still alive. Allocates nothing: a ledger may be used
// inside the program's own malloc(). See process_identity.hpp.
#include "memory/ledger/process_identity.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace terrace::memory {

namespace {

constexpr int k_field_state = 3;  // fields of /proc/PROCESS/stat, proc(5)
constexpr int k_field_threads = 20;
constexpr int k_field_start = 22;

std::uint32_t pid_namespace_inode() noexcept {
  struct stat status {};
  return ::stat("/proc/self/ns/pid", &status) == 0 ? static_cast<std::uint32_t>(status.st_ino) : 0;
}

// Returns 8 of the 16 random bytes that the kernel passes to each executed program (AT_RANDOM).
std::uint64_t random_exec_id() noexcept {
  std::uint64_t image = 0;
  if (const auto* bytes = reinterpret_cast<const void*>(::getauxval(AT_RANDOM)))
    std::memcpy(&image, bytes, sizeof image);
  return image;
}

}  // namespace

std::optional<ProcessState> process_state(std::uint32_t process) noexcept {
  std::array<char, 32> path;
  std::snprintf(path.data(), path.size(), "/proc/%u/stat", process);
  const int file = ::open(path.data(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return std::nullopt;
  std::array<char, 1024> text;
  const auto size = ::read(file, text.data(), text.size() - 1);
  ::close(file);
  if (size <= 0) return std::nullopt;
  text[static_cast<std::size_t>(size)] = '\0';
  const char* at = std::strrchr(text.data(), ')');  // the name before it may contain any character
  if (!at) return std::nullopt;
  ProcessState state;
  char letter = '?';
  std::uint64_t threads = 0;
  for (int field = 2; field < k_field_start;) {
    at = std::strchr(at, ' ');
    if (!at) return std::nullopt;
    ++at;
    ++field;
    if (field == k_field_state) letter = *at;
    if (field == k_field_threads) threads = std::strtoull(at, nullptr, 10);
    if (field == k_field_start) state.start = std::strtoull(at, nullptr, 10);
  }
  const bool first_ended = letter == 'Z' || letter == 'X';
  state.ended = first_ended && threads <= 1;
  state.first_thread_ended = first_ended && threads > 1;
  return state;
}

ProcessIdentity this_process() noexcept {
  ProcessIdentity me;
  me.process = static_cast<std::uint32_t>(::getpid());
  me.space = pid_namespace_inode();
  if (const auto state = process_state(me.process)) me.start = state->start;
  me.image = random_exec_id();
  return me;
}

bool may_be_alive(const ProcessIdentity& who, const ProcessIdentity& self) noexcept {
  if (who.space != self.space) return true;  // its number is meaningless in this namespace
  if (who.process == self.process) return who.start == self.start && who.image == self.image;
  return ::kill(static_cast<pid_t>(who.process), 0) == 0 || errno != ESRCH;
}

bool is_alive(const ProcessIdentity& who, const ProcessIdentity& self) noexcept {
  if (!may_be_alive(who, self)) return false;
  if (who.space != self.space || who.process == self.process) return true;
  const auto state = process_state(who.process);
  if (!state) return !process_state(self.process) || may_be_alive(who, self);
  return !state->ended && (state->start == who.start || who.start == 0);
}

}  // namespace terrace::memory
