// SPDX-License-Identifier: Apache-2.0
// Finds files that dlopen(3) has loaded since the start, and repairs their references to functions that Terrace
// interposes. Interposes dlsym(3) and dlopen(3) for that. See later_files.hpp.
#include "agent/lifecycle/later_files.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "agent/lifecycle/in_process.hpp"
#include "agent/linking/absent_functions.hpp"
#include "agent/linking/caller_functions.hpp"
#include "agent/linking/file_references.hpp"
#include "agent/linking/mpi_layer.hpp"
#include "agent/linking/next.hpp"
#include "core/errno_scope.hpp"
#include "observe/coverage/time_samples.hpp"
#include "observe/threads/thread.hpp"

namespace terrace::agent {

namespace {

using FindSymbol = void* (*)(void*, const char*);

struct LoadCounts {
  std::uint64_t adds = 0, removals = 0;
  bool operator==(const LoadCounts&) const = default;
};

constinit std::mutex g_look_lock;
constinit LoadCounts g_seen;                     // requires the lock
constinit std::size_t g_first = 0;               // files were loaded with the program
constinit std::atomic<std::uint64_t> g_adds{0};  // of g_seen; 0: Terrace does nothing here
constinit std::atomic<bool> g_is_deep{false};    // some file was opened with RTLD_DEEPBIND
thread_local bool t_looking __attribute__((tls_model("initial-exec"))) = false;

// Returns how many files the dynamic linker has loaded and unloaded so far.
LoadCounts loads_now() noexcept {
  LoadCounts loads;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* to) noexcept {
        *static_cast<LoadCounts*>(to) = {info->dlpi_adds, info->dlpi_subs};
        return 1;
      },
      &loads);
  return loads;
}

struct LaterFile {
  dl_phdr_info info;
  std::string path;
};

// Returns the files from the given place on, in the order of loading. Throws std::bad_alloc.
std::vector<LaterFile> files_from(std::size_t first) {
  struct Found {
    std::size_t skipped;
    std::vector<LaterFile> files;
    bool failed = false;
  } found{first, {}};
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* to) noexcept {
        auto& into = *static_cast<Found*>(to);
        if (into.skipped > 0) return --into.skipped, 0;
        try {
          into.files.push_back({*info, info->dlpi_name ? info->dlpi_name : ""});
        } catch (const std::exception&) {
          into.failed = true;
        }
        return 0;
      },
      &found);
  if (found.failed) throw std::bad_alloc();
  return std::move(found.files);
}

// Returns whether code at the address reaches a definition of the function other than Terrace's stand-in.
bool is_provided(const char* name, std::uint64_t address) noexcept {
  if (dlsym(RTLD_NEXT, name)) return true;
  try {
    return find_in_own_scope_of(address, {&name, 1}).front() != nullptr;
  } catch (const std::exception&) {  // no memory: it stays as it is
    return true;
  }
}

// Returns whether the address is in a segment of the file.
bool contains(const dl_phdr_info& info, std::uint64_t address) noexcept {
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const auto& part = info.dlpi_phdr[i];
    if (part.p_type == PT_LOAD && address - info.dlpi_addr - part.p_vaddr < part.p_memsz) return true;
  }
  return false;
}

// Rebinds references that bypass this library, i.e. are bound to the functions that it forwards to. A lazy
// reference still points into its own file; it would be bound to these functions, too.
void bind_deep_references(const dl_phdr_info& info) {
  const auto references = FileReferences::read(info);
  if (!references.is_there()) return;
  struct Reference {
    std::size_t index;
    std::uint64_t ours, next;
  };
  std::vector<Reference> wanted;
  std::vector<const char*> names;
  for (std::size_t i = 1; i < references.undefined(); ++i) {
    const auto& symbol = references.symbols[i];
    if (symbol.st_shndx != SHN_UNDEF || ELF64_ST_TYPE(symbol.st_info) == STT_OBJECT) continue;
    const auto ours = reinterpret_cast<std::uint64_t>(dlsym(RTLD_DEFAULT, references.name(i)));
    if (!is_in_terrace(ours)) continue;
    const auto next = reinterpret_cast<std::uint64_t>(dlsym(RTLD_NEXT, references.name(i)));
    if (next == 0) continue;
    wanted.push_back({i, ours, next});
    names.push_back(references.name(i));
  }
  if (wanted.empty()) return;
  const auto own = find_in_own_scope_of(info.dlpi_addr + info.dlpi_phdr[0].p_vaddr, names);
  references.for_each_slot(info.dlpi_addr, [&](std::size_t index, std::uint64_t address) {
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const auto& one = wanted[i];
      const auto is_next = own[i] == nullptr || reinterpret_cast<std::uint64_t>(own[i]) == one.next;
      if (one.index != index || !is_next) continue;
      const auto value = slot_value(address);
      if (value == one.next || contains(info, value)) set_slot(info, address, one.ours);
    }
  });
}

// Repairs the references of one new file, which stays loaded meanwhile.
void repair_file(const LaterFile& file) {
  if (file.path.empty() || is_in_terrace(file.info.dlpi_addr)) return;
  void* const handle = dlopen(file.path.c_str(), RTLD_LAZY | RTLD_NOLOAD);  // it stays meanwhile
  if (!handle) return;
  clear_absent_in(file.info, is_provided);
  if (g_is_deep.load(std::memory_order_relaxed)) bind_deep_references(file.info);
  static constinit NextFunction<int (*)(void*)> close{
      "dlclose"};  // the interposed one would invalidate all tables
  (*close)(handle);
}

// Returns the next definition of dlsym(3) or dlopen(3). Uses dlvsym(3), because dlsym(3) is interposed itself:
// each architecture introduced these functions in one of the versions.
void* find_linker_function(const char* name) noexcept {
  for (const char* const version : {"GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_2.17", "GLIBC_2.27", "GLIBC_2.36"})
    if (void* const found = dlvsym(RTLD_NEXT, name, version)) return found;
  return nullptr;
}

// Returns the C library's dlsym(3).
FindSymbol next_find_symbol() noexcept {
  static constinit std::atomic<FindSymbol> g_next{nullptr};
  auto next = g_next.load(std::memory_order_relaxed);
  if (next) return next;
  next = reinterpret_cast<FindSymbol>(find_linker_function("dlsym"));
  g_next.store(next, std::memory_order_relaxed);
  return next;
}

// Returns null for a name that no file after this library defines, and sets the dynamic linker's error as dlsym(3)
// does.
// The library that interposes MPI may come after this one: the C library has none of its names.
void* find_nothing(void*, const char* name) noexcept {
  if (is_mpi_name(name))
    if (void* const c_library = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD))
      return next_find_symbol()(c_library, name);
  void* found = next_find_symbol()(RTLD_NEXT, name);
  asm volatile("" : "+r"(found));  // prevents a tail call: the callee searches after its caller
  return found;
}

}  // namespace

void begin_later_files() noexcept {
  g_seen = loads_now();
  g_first = 0;
  dl_iterate_phdr([](dl_phdr_info*, std::size_t, void*) noexcept { return ++g_first, 0; }, nullptr);
  g_adds.store(g_seen.adds, std::memory_order_release);
}

void note_later_files() noexcept {
  const auto adds = g_adds.load(std::memory_order_acquire);
  if (adds == 0 || t_looking || loads_now().adds == adds) return;
  const observe::AgentScope scope;
  t_looking = true;
  {
    // Does not wait for the lock: the dynamic linker's lock is taken inside, and the calling thread may hold it.
    const std::unique_lock lock(g_look_lock, std::try_to_lock);
    if (lock) try {
        const auto now = loads_now();
        const auto files = files_from(g_first);
        // Where none was unloaded since, the last ones are new.
        const auto added = now.adds - g_seen.adds;
        const auto known = now.removals == g_seen.removals && added < files.size() ? files.size() - added : 0;
        for (auto i = known; i < files.size(); ++i) repair_file(files[i]);
        g_seen = now;
        g_adds.store(now.adds, std::memory_order_release);
      } catch (const std::exception&) {  // no memory: they stay as they are
      }
  }
  t_looking = false;
}

}  // namespace terrace::agent

// The dynamic linker's functions inspect their return address, so the wrappers jump to them and leave the
// program's return address on the stack.
namespace agent = terrace::agent;

extern "C" {

// Returns the function to jump to.
__attribute__((visibility("hidden"), used)) void* terrace_next_dlsym(void* handle, const char* name,
                                                                     const void* caller) noexcept {
  const auto next = agent::next_find_symbol();
  const auto code = reinterpret_cast<std::uint64_t>(caller);
  if (agent::is_in_terrace(code)) return reinterpret_cast<void*>(next);
  // Also where Terrace does nothing in this process: the library that interposes MPI may be loaded nevertheless.
  const bool is_mpi = name && handle != RTLD_NEXT && agent::is_mpi_name(name) && agent::has_mpi_layer();
  if (is_mpi && agent::is_in_mpi_layer(code)) return reinterpret_cast<void*>(next);
  const bool is_active = agent::is_own_process();
  if (is_active && handle != RTLD_NEXT) agent::note_later_files();
  // A handle of the program itself finds stand-ins, too; that of another library finds its own functions.
  const bool is_stand_in = is_active && name && handle == RTLD_DEFAULT && agent::is_stand_in(name);
  if (!is_mpi && !is_stand_in) return reinterpret_cast<void*>(next);
  const terrace::ErrnoScope errno_scope;
  const terrace::observe::RuntimeScope inside;
  const bool is_there = is_mpi ? agent::is_provided_by_mpi(name) : agent::is_provided(name, code);
  return is_there ? reinterpret_cast<void*>(next) : reinterpret_cast<void*>(agent::find_nothing);
}

// Returns the C library's dlopen(3), to jump to, and notes whether a file is opened with RTLD_DEEPBIND.
__attribute__((visibility("hidden"), used)) void* terrace_next_dlopen(const char*, int flags,
                                                                      const void*) noexcept {
  static constinit std::atomic<void*> g_next{nullptr};
  if ((flags & RTLD_DEEPBIND) != 0) agent::g_is_deep.store(true, std::memory_order_relaxed);
  void* next = g_next.load(std::memory_order_relaxed);
  if (!next) g_next.store(next = agent::find_linker_function("dlopen"), std::memory_order_relaxed);
  return next;
}

#if defined(__x86_64__)

// clang-format off
#define TERRACE_LINKER_FUNCTION(name)                   \
  TERRACE_EXPORT void terrace_interposed_##name() asm(#name); \
  __attribute__((naked)) void terrace_interposed_##name() {   \
    asm("pushq %rdi\n\t"                                \
        ".cfi_adjust_cfa_offset 8\n\t"                  \
        "pushq %rsi\n\t"                                \
        ".cfi_adjust_cfa_offset 8\n\t"                  \
        "movq 16(%rsp), %rdx\n\t"                       \
        "subq $8, %rsp\n\t"                             \
        ".cfi_adjust_cfa_offset 8\n\t"                  \
        "call terrace_next_" #name "\n\t"               \
        "addq $8, %rsp\n\t"                             \
        ".cfi_adjust_cfa_offset -8\n\t"                 \
        "popq %rsi\n\t"                                 \
        ".cfi_adjust_cfa_offset -8\n\t"                 \
        "popq %rdi\n\t"                                 \
        ".cfi_adjust_cfa_offset -8\n\t"                 \
        "jmp *%rax");                                   \
  }

TERRACE_LINKER_FUNCTION(dlsym)
TERRACE_LINKER_FUNCTION(dlopen)
// clang-format on

#else

// An optimising compiler makes these calls jumps.
TERRACE_EXPORT void* dlsym(void* handle, const char* name) noexcept {
  using Function = void* (*)(void*, const char*);
  return reinterpret_cast<Function>(terrace_next_dlsym(handle, name, __builtin_return_address(0)))(handle, name);
}
TERRACE_EXPORT void* dlopen(const char* path, int flags) noexcept {
  using Function = void* (*)(const char*, int);
  return reinterpret_cast<Function>(terrace_next_dlopen(path, flags, nullptr))(path, flags);
}

#endif

}  // extern "C"
