// SPDX-License-Identifier: Apache-2.0
// Creates the heaps that the session (the launcher's settings) requests: memory by intent, or out of core. Checks
// their preconditions, shares their counters with the launcher, and reports problems once in a job. start.cpp
// calls it.
#include "agent/session_heaps.hpp"

#include <fcntl.h>
#include <locale.h>
#include <sys/prctl.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "agent/heap/ordered_heap.hpp"
#include "agent/heap/spilled_heap.hpp"
#include "core/address_space.hpp"
#include "core/error.hpp"
#include "core/rounding.hpp"
#include "core/shared_mapping.hpp"
#include "core/small_file.hpp"
#include "core/userfault_file.hpp"
#include "model/directives.hpp"
#include "observe/threads/thread.hpp"
#include "strategy/spill/belady_policy.hpp"
#include "strategy/spill/plan_guided_policy.hpp"
#include "transfer/spill/spill.hpp"
#include "transfer/spill/spill_system.hpp"

namespace terrace::agent {

namespace {

void (*g_print)(const char*) = nullptr;
std::string g_directory;    // of the session
std::string g_said_marker;  // marker file: exists once a process of the job has reported something
runtime::SpillSpec g_spec;
transfer::SpillCounts* g_counts = nullptr;
bool g_is_made = false;

// Creates a marker file. Returns false if it exists.
bool create_marker(const std::string& path) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file >= 0) syscall(SYS_close, file);
  return file >= 0 || errno != EEXIST;
}

void print_sentence(const char* sentence) {
  char text[640];
  std::snprintf(text, sizeof text, "terrace: %s\n", sentence);
  g_print(text);
}

void report_sentence(const char* sentence) {
  create_marker(g_said_marker);
  print_sentence(sentence);
}

// Maps the file "PREFIX<pid>" in the session's directory. Returns null with errno set if it cannot be made. The
// mapping lives as long as the process.
template <class Counts>
Counts* make_counts(const std::string& directory, const char* prefix) {
  const auto name = directory + "/" + prefix + std::to_string(getpid());
  const int file = open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  void* const page = file < 0 ? nullptr : map_shared(file, sizeof(Counts));
  const int problem = errno;
  if (file >= 0) syscall(SYS_close, file);
  errno = problem;
  return page ? new (page) Counts : nullptr;
}

// Returns the counters that are shared with the launcher, which reports them at the end.
transfer::SpillCounts& counts_in(const std::string& directory) {
  auto* const counts = make_counts<transfer::SpillCounts>(directory, runtime::k_spill_counts);
  if (!counts)
    throw Error(Code::failed, std::string("--memory: a file for counters cannot be created in $TMPDIR: ") +
                                  std::strerror(errno) + "; raise ulimit -n, or free space there");
  return *counts;
}

// Returns the free space of the directory's file system.
std::optional<Bytes> free_in(const std::string& folder) {
  struct statvfs disk {};
  if (statvfs(folder.c_str(), &disk) != 0) return std::nullopt;
  std::uint64_t free = 0;
  return Bytes{__builtin_mul_overflow(std::uint64_t{disk.f_bavail}, std::uint64_t{disk.f_frsize}, &free)
                   ? ~std::uint64_t{0}
                   : free};
}

// Returns the maximum of spilled data. Data beyond the disk's space stays in memory, above the limit.
Bytes max_data(const runtime::SpillSpec& spec) {
  const auto disk = free_in(spec.folder);
  if (!disk)
    throw Error(Code::failed, "--memory: the free space in " + spec.folder +
                                  " is unknown: " + std::strerror(errno) + "; name another folder with --spill");
  const auto pages = static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES));
  return SpilledHeap::max_data(Bytes{spec.memory.value + pages * k_page}, *disk);
}

// Counts a refused block, and reports the first one of the job.
void report_refused(std::size_t size, std::size_t alignment) {
  g_counts->refused_bytes.fetch_add(size, std::memory_order_relaxed);
  if (!create_marker(g_said_marker)) return;
  try {
    if (alignment > k_huge_page) {
      report_sentence(("the address space of out-of-core data has no block aligned to " +
                       format(Bytes{alignment}) + ": a block of " + format(Bytes{size}) + " stays in memory")
                          .c_str());
      return;
    }
    const auto there = free_in(g_spec.folder);
    report_sentence(("no space for a block of " + format(Bytes{size}) + " in " + g_spec.folder +
                     (there ? " (" + format(*there) + " are free)" : "") +
                     ": it stays in memory; --spill names another folder")
                        .c_str());
  } catch (const std::exception&) {  // no memory to say it with
  }
}

void name_process(transfer::SpillCounts& counts) {
  counts.process = static_cast<std::int32_t>(syscall(SYS_getpid));
  prctl(PR_GET_NAME, counts.program.data());  // at most 16 bytes
}

// Reports a failure, once in a job. Not after the run has ended, because the failure then follows from that.
void report_failure(const char* why) {
  if (!runtime::is_session_gone(g_directory) && create_marker(g_said_marker))
    report_sentence((std::string(why) + "; the program runs with the memory that it gets").c_str());
}

// Throws Error if less than twice the memory limit can be reserved: reserved address space is lost for other
// uses, and so little is not worth it.
void check_address_space() {
  const auto limit = address_space_limit();
  const auto least = 2 * g_spec.memory.value;
  if (limit && reservable(Bytes{least}).value < least)
    throw Error(Code::failed, "address space is limited (ulimit -v " + std::to_string(limit->value >> 10) +
                                  "), and --memory " + format(g_spec.memory) + " needs at least " +
                                  format(Bytes{8 * g_spec.memory.value}) +
                                  " of it; raise the limit, or lower --memory");
}

// Returns the peak of resident memory in bytes (VmHWM), or 0 if unknown.
std::uint64_t peak() noexcept {
  char text[4096];
  read_small_file("/proc/self/status", text, sizeof text);
  const char* const line = std::strstr(text, "VmHWM:");
  unsigned long long kib = 0;
  return line && std::sscanf(line, "VmHWM: %llu", &kib) == 1 ? kib << 10 : 0;
}

}  // namespace

void warn_address_space_limit(const runtime::Session& session, void (*print)(const char*)) {
  const auto limit = address_space_limit();
  if (!limit || !create_marker(session.directory + "/" + runtime::k_limit_said)) return;
  char text[256];
  std::snprintf(text, sizeof text,
                "terrace: address space is limited (ulimit -v %llu) to less than it takes to manage data: large "
                "blocks come from the program's own allocator, as without terrace; raise the limit to have them "
                "placed\n",
                static_cast<unsigned long long>(limit->value >> 10));
  print(text);
}

bool prepare_spilled(const runtime::Session& session, void (*say)(const char* line)) noexcept {
  const auto& spec = session.spill;
  if (!spec.is_wanted()) return false;
  g_print = say;
  g_directory = session.directory;
  g_said_marker = g_directory + "/" + runtime::k_spill_said;
  try {
    g_spec = spec;
    g_counts = &counts_in(session.directory);
    static_cast<void>(max_data(spec));
    name_process(*g_counts);
    g_counts->active = true;
    return true;
  } catch (const std::exception& error) {
    report_failure(error.what());
    return false;
  }
}

// Returns what the plan of --plan says of the object: keep it in memory, evict it first, or nothing.
transfer::Preference preference_of(std::string_view object) noexcept {
  try {
    const std::string name(object);
    for (const auto& rule : g_spec.plan)
      if (model::matches_name(rule.object, name)) {
        g_counts->plan_names.store(true, std::memory_order_relaxed);
        return rule.stays ? transfer::Preference::keep : transfer::Preference::evict_first;
      }
  } catch (const std::bad_alloc&) {  // no memory for the lookup
  }
  return transfer::Preference::none;
}

SpilledHeap* make_spilled() noexcept {
  try {
    check_address_space();
    transfer::SpillEngine::Parts parts;
    parts.memory = g_spec.memory;
    parts.folder = g_spec.folder;
    parts.counts = g_counts;
    parts.make_policy = []() -> std::unique_ptr<transfer::ReplacementPolicy> {
      auto use = std::make_unique<strategy::BeladyPolicy>();
      if (g_spec.plan.empty()) return use;
      return std::make_unique<strategy::PlanGuidedPolicy>(std::move(use));
    };
    // Terrace's threads use the C locale: the data of the program's locale may be spilled.
    parts.enter = [] {
      observe::t_thread.enter_runtime();
      uselocale(newlocale(LC_ALL_MASK, "C", nullptr));
    };
    parts.say = report_sentence;
    const int problem = transfer::Spill::problem_here();
    parts.paged = problem != 0;
    if (parts.paged && create_marker(g_said_marker)) {
      const bool lacks = problem == EPERM || problem == EACCES || problem == ENOSYS || problem == EINVAL;
      const auto why =
          lacks ? "needs Linux 6.8 and the right to wait for page faults (userfaultfd with UFFDIO_MOVE; "
                  "root, or vm.unprivileged_userfaultfd = 1): without"
                : "is paged by the kernel, " + why_no_userfault(problem) + "";
      report_sentence(
          ("out-of-core memory " + why + ", data are mappings of the file that the kernel pages, which is slower")
              .c_str());
    }
    g_counts->paged = parts.paged;
    auto* const heap = new SpilledHeap(max_data(g_spec), parts, report_refused);
    g_is_made = true;
    return heap;
  } catch (const std::exception& error) {
    g_counts->active = false;
    report_failure(error.what());
    return nullptr;
  }
}

void warn_confined_over_file() noexcept {
  if (!create_marker(g_said_marker)) return;
  report_sentence(
      "the program filters its system calls (seccomp) while it has out-of-core data: Terrace's threads go on for "
      "these, and a filter that holds for all threads and does not allow what they call ends the program");
}

// Called at exit: reports a process that exceeded --memory before any of its data was spilled.
void end_spilled() noexcept {
  if (g_is_made || !g_counts->active) return;
  const auto most = peak();
  if (most <= g_spec.memory.value) return;
  g_counts->max_excess.store(most - g_spec.memory.value);
  try {
    transfer::warn_memory_too_small(g_spec.memory, Bytes{most}, report_sentence);
  } catch (const std::exception&) {  // no memory to say it with
  }
}

OrderedHeap* make_ordered(const runtime::Session& session, memory::Ledger& ledger,
                          void (*say)(const char* line)) noexcept {
  // With spilled memory one limit applies to all data, and nothing is placed by intent.
  if (session.backend != runtime::Backend::real || session.spill.is_wanted()) return nullptr;
  g_print = say;
  try {
    const auto& configuration = session.configurations.front();
    OrderedHeap::Parts parts;
    parts.machine = &configuration.machine;
    parts.initiator = configuration.machine.domains()[configuration.domain].initiator;
    parts.ledger = &ledger;
    parts.mark = session.intent.mark;
    parts.default_fill = session.intent.eager ? OrderedHeap::FillMode::eager : OrderedHeap::FillMode::on_touch;
    parts.counts = [&session] {
      return make_counts<memory::OrderedCounts>(session.directory, runtime::k_ordered_counts);
    };
    parts.enter = [] { observe::t_thread.enter_runtime(); };
    parts.say = print_sentence;
    auto* const heap = new OrderedHeap(parts);
    if (session.intent.is_wanted()) heap->set_default_intent(heap->find_intent(session.intent.name));
    return heap;
  } catch (const std::exception& error) {
    char text[512];
    std::snprintf(text, sizeof text, "%s; the kernel places the program's data", error.what());
    print_sentence(text);
    return nullptr;
  }
}

}  // namespace terrace::agent
