// See spilled_data.hpp.
#include "agent/spilled_data.hpp"

#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

#include "agent/heap/spilled_heap.hpp"
#include "agent/shared_counts.hpp"
#include "core/error.hpp"
#include "core/rounding.hpp"
#include "observe/threads/thread.hpp"
#include "strategy/spill/next_use.hpp"

namespace terrace::agent {

namespace {

void (*g_say)(const char*) = nullptr;
std::string g_said;  // a file that is there once one of the job's processes has said something

// False where it was there.
bool make_once(const std::string& path) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file >= 0) syscall(SYS_close, file);
  return file >= 0 || errno != EEXIST;
}

void say_sentence(const char* sentence) {
  make_once(g_said);
  char text[640];
  std::snprintf(text, sizeof text, "terrace: %s\n", sentence);
  g_say(text);
}

// Shared with the launcher, who tells what became of it.
transfer::SpillCounts& counts_in(const std::string& directory) {
  std::string path;
  auto* const counts = make_counts<transfer::SpillCounts>(directory, runtime::k_spill_counts, &path);
  if (!counts) throw Error(Code::failed, "memory over a file: " + path + " cannot be made");
  return *counts;
}

// What the folder's disk has room for.
Bytes free_in(const std::string& folder) {
  struct statvfs disk {};
  if (statvfs(folder.c_str(), &disk) != 0)
    throw Error(Code::failed, "memory over a file: " + folder + ": " + std::strerror(errno));
  std::uint64_t free = 0;
  return Bytes{__builtin_mul_overflow(std::uint64_t{disk.f_bavail}, std::uint64_t{disk.f_frsize}, &free)
                   ? ~std::uint64_t{0}
                   : free};
}

// What the disk has no room for stays in memory, beyond the limit: it is with the rest all the same.
Bytes most_data(const runtime::SpillSpec& spec) {
  const auto pages = static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES));
  return SpilledHeap::most_data(Bytes{spec.memory.value + pages * k_page}, free_in(spec.folder));
}

}  // namespace

SpilledHeap* make_spilled(const runtime::Session& session, void (*say)(const char* line)) noexcept {
  const auto& spec = session.spill;
  if (!spec.is_wanted()) return nullptr;
  g_say = say;
  g_said = session.directory + "/" + runtime::k_spill_said;
  try {
    transfer::Spill::Parts parts;
    parts.memory = spec.memory;
    parts.folder = spec.folder;
    parts.counts = &counts_in(session.directory);
    parts.foresight = []() -> std::unique_ptr<transfer::Foresight> {
      return std::make_unique<strategy::NextUse>();
    };
    parts.enter = [] { observe::t_thread.go_inside(); };
    parts.say = say_sentence;
    return new SpilledHeap(most_data(spec), parts);
  } catch (const std::exception& error) {
    // Each process of a job would say it; and where there was trouble before, this follows from that.
    if (make_once(g_said))
      say_sentence((std::string(error.what()) + "; the program runs with the memory that it gets").c_str());
    return nullptr;
  }
}

}  // namespace terrace::agent
