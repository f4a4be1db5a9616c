// SPDX-License-Identifier: Apache-2.0
// Edits, without allocation, the environment that exec and posix_spawn pass to the next program (leaving.cpp), and
// notes a program that cannot load Terrace, for the launcher's summary. See passed_environment.hpp.
#include "agent/lifecycle/passed_environment.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string_view>

#include "agent/lifecycle/in_process.hpp"
#include "core/errno_scope.hpp"
#include "runtime/session/session.hpp"

namespace terrace::agent {

namespace {

constexpr std::array<const char*, 2> k_passed_on{"TERRACE_SESSION", "LD_PRELOAD"};

// "NAME=value" as in this program's environment; empty without a session.
char g_saved[k_passed_on.size()][4096];
char g_library[4096];  // path of this library, as in LD_PRELOAD

// Variables that may contain the library's path, and the separators of their lists.
struct PathList {
  std::string_view name;
  const char* between;
};
constexpr std::array<PathList, 4> k_lists{{{"LD_PRELOAD=", ": "},
                                           {"NVTX_INJECTION64_PATH=", ""},
                                           {"KOKKOS_TOOLS_LIBS=", ";"},
                                           {"KOKKOS_PROFILE_LIBRARY=", ";"}}};

const char* find_variable(char* const* environment, const char* name) noexcept {
  const auto length = strlen(name);
  for (; environment && *environment; ++environment)
    if (strncmp(*environment, name, length) == 0 && (*environment)[length] == '=') return *environment;
  return nullptr;
}

std::size_t count(char* const* list) noexcept {
  std::size_t n = 0;
  while (list && list[n]) ++n;
  return n;
}

const PathList* list_of(const char* variable) noexcept {
  for (const auto& list : k_lists)
    if (strncmp(variable, list.name.data(), list.name.size()) == 0) return &list;
  return nullptr;
}

// Returns whether the dynamic linker would not find the library: after chroot(2), or as another user.
bool is_library_lost() noexcept {
  if (g_library[0] == '\0') return false;
  const ErrnoScope errno_scope;
  const int file = open(g_library, O_RDONLY | O_CLOEXEC);
  const bool is_lost = file < 0 && (errno == ENOENT || errno == ENOTDIR || errno == EACCES || errno == ELOOP);
  if (file >= 0) close(file);
  return is_lost;
}

// Returns the variable without the library: itself if it does not contain it, null if it contains nothing else,
// or an edited copy in `room`, which needs strlen(variable) + 1 bytes and is advanced past the copy.
char* without_library(char* variable, const PathList& list, char*& room) noexcept {
  const auto length = strlen(g_library);
  const char* const files = variable + list.name.size();
  bool is_there = false;
  char* end = room;
  memcpy(end, list.name.data(), list.name.size());
  end += list.name.size();
  char* const first = end;
  for (const char* at = files; *at;) {
    const auto word = strcspn(at, list.between);
    const auto gap = strspn(at + word, list.between);
    if (word == length && memcmp(at, g_library, length) == 0) {
      is_there = true;
    } else {
      memcpy(end, at, word + gap);
      end += word + gap;
    }
    at += word + gap;
  }
  if (!is_there) return variable;
  while (end > first && strchr(list.between, end[-1])) --end;
  if (end == first) return nullptr;
  *end = '\0';
  char* const made = room;
  room = end + 1;
  return made;
}

}  // namespace

std::size_t passed_environment_size(char* const* environment) noexcept {
  std::size_t size = (count(environment) + k_passed_on.size() + 1) * sizeof(char*);
  for (auto* const* one = environment; one && *one; ++one)
    if (list_of(*one)) size += strlen(*one) + 1;
  return size;
}

char* const* passed_environment(char* const* environment, const ProgramLoader& program, char* room) noexcept {
  auto** const passed = reinterpret_cast<char**>(room);
  char* texts = room + (count(environment) + k_passed_on.size() + 1) * sizeof(char*);
  const bool is_lost = !program.can_load() || is_library_lost();
  std::size_t n = 0;
  for (auto* const* one = environment; one && *one; ++one) {
    const auto* const list = is_lost ? list_of(*one) : nullptr;
    if (char* const text = list ? without_library(*one, *list, texts) : *one) passed[n++] = text;
  }
  for (std::size_t i = 0; i < k_passed_on.size() && !is_lost; ++i)
    if (g_saved[i][0] != '\0' && !find_variable(environment, k_passed_on[i])) passed[n++] = g_saved[i];
  passed[n] = nullptr;
  return passed;
}

void note_unobserved(const char* path, const ProgramLoader& program) noexcept {
  const char* const session = g_saved[0][0] != '\0' ? strchr(g_saved[0], '=') + 1 : nullptr;
  const char* const name = session ? strrchr(session, '/') : nullptr;
  if (program.can_load() || !name) return;
  const ErrnoScope errno_scope;
  char note[sizeof g_saved[0] + sizeof runtime::k_unobserved];
  const auto length = static_cast<std::size_t>(name + 1 - session);
  memcpy(note, session, length);
  memcpy(note + length, runtime::k_unobserved, sizeof runtime::k_unobserved);
  const int file = open(note, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);  // the first of several is kept
  if (file >= 0) {
    for (const char* const part : {path, "\n", program.why_not()})
      if (::write(file, part, strlen(part)) < 0) break;
    close(file);
  }
}

void save_environment(char** environment) noexcept {
  for (std::size_t i = 0; i < k_passed_on.size(); ++i) {
    const char* const text = find_variable(environment, k_passed_on[i]);
    if (text && strlen(text) < sizeof g_saved[i]) strcpy(g_saved[i], text);
  }
  Dl_info here{};
  if (dladdr(g_library, &here) != 0 && here.dli_fname && strlen(here.dli_fname) < sizeof g_library)
    strcpy(g_library, here.dli_fname);
}

char** saved_environment() noexcept {
  static constinit char* all[k_passed_on.size() + 1]{};
  std::size_t n = 0;
  for (auto& text : g_saved)
    if (text[0] != '\0') all[n++] = text;
  all[n] = nullptr;
  return all;
}

}  // namespace terrace::agent
