// SPDX-License-Identifier: Apache-2.0
// Implements CallerFunctions: emulates the dynamic linker's symbol scopes for one calling file, and resolves a
// list of functions (OpenMP's, libm's, Caliper's) for it, to which the interposers forward its calls.
#include "agent/linking/caller_functions.hpp"

#include <dlfcn.h>
#include <link.h>
#include <sys/auxv.h>
#include <unwind.h>

#include <algorithm>
#include <array>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "agent/linking/injected_library.hpp"
#include "agent/linking/next.hpp"
#include "observe/coverage/time_samples.hpp"

namespace terrace::agent {

constinit std::atomic<std::uint32_t> CallerFunctions::g_unloads{0};

namespace {

int close_library(void* handle) noexcept {
  static constinit NextFunction<int (*)(void*)> next{"dlclose"};
  return (*next)(handle);
}

// A loaded file.
struct LoadedFile {
  std::uint64_t base = 0, low = 0, high = 0;
  std::string path;  // empty: the executable
  const ElfW(Dyn) * dynamic = nullptr;
  [[nodiscard]] bool contains(std::uint64_t address) const { return address - low < high - low; }
};

LoadedFile describe_file(const dl_phdr_info& info) {
  LoadedFile file;
  file.base = info.dlpi_addr;
  file.low = ~std::uint64_t{0};
  file.path = info.dlpi_name ? info.dlpi_name : "";
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const auto& part = info.dlpi_phdr[i];
    const auto begin = info.dlpi_addr + part.p_vaddr;
    if (part.p_type == PT_DYNAMIC)
      file.dynamic = reinterpret_cast<const ElfW(Dyn)*>(begin);  // NOLINT(performance-no-int-to-ptr)
    if (part.p_type != PT_LOAD) continue;
    file.low = std::min(file.low, begin);
    file.high = std::max(file.high, begin + part.p_memsz);
  }
  if (file.high == 0) file.low = 0;
  return file;
}

// Lists the files that are loaded now, in the order of loading. Throws std::bad_alloc.
std::vector<LoadedFile> loaded_files() {
  struct Found {
    std::vector<LoadedFile> files;
    std::exception_ptr failed;
  } found;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* to) noexcept {
        auto& into = *static_cast<Found*>(to);
        try {
          into.files.push_back(describe_file(*info));
        } catch (const std::exception&) {
          into.failed = std::current_exception();
          return 1;
        }
        return 0;
      },
      &found);
  if (found.failed) std::rethrow_exception(found.failed);
  return std::move(found.files);
}

// Entries of a file's dynamic section: the libraries that it needs (DT_NEEDED), and its own name (DT_SONAME).
struct LinkInfo {
  std::vector<std::string_view> needed;
  std::string_view own;
};

LinkInfo read_link_info(const LoadedFile& file) {
  LinkInfo linked;
  if (!file.dynamic) return linked;
  const char* names = nullptr;
  for (const auto* entry = file.dynamic; entry->d_tag != DT_NULL; ++entry)
    if (entry->d_tag == DT_STRTAB) {
      const auto value = entry->d_un.d_ptr;  // an address, but where the section is read-only (the vDSO)
      names = reinterpret_cast<const char*>(value < file.base ? file.base + value  // NOLINT
                                                              : value);
    }
  for (const auto* entry = file.dynamic; names && entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_NEEDED) linked.needed.emplace_back(names + entry->d_un.d_val);
    if (entry->d_tag == DT_SONAME) linked.own = names + entry->d_un.d_val;
  }
  return linked;
}

// Resolves one caller's references as the dynamic linker would without Terrace.
class CallerScope {
 public:
  // Throws std::bad_alloc.
  explicit CallerScope(std::uint64_t caller) : files_(loaded_files()), caller_(index_of(caller)) {}
  ~CallerScope() {
    for (void* const handle : handles_) close_library(handle);
  }
  CallerScope(const CallerScope&) = delete;
  CallerScope& operator=(const CallerScope&) = delete;

  [[nodiscard]] const LoadedFile* caller() const { return caller_ < files_.size() ? &files_[caller_] : nullptr; }
  [[nodiscard]] bool is_called_by_linker() const { return caller() && caller()->base == getauxval(AT_BASE); }

  // Searches the files that dlopen(3) loaded together with the caller's. Returns null if none defines the name.
  void* find_in_own_scope(const char* name) {
    begin_own_scope();
    for (const auto root : roots_)
      if (void* const found = find_behind(root, name)) return found;
    return nullptr;
  }

  // Searches in the dynamic linker's order (ld.so(8)): global scope, then that of the caller's dlopen(3).
  // Libraries that became global later did not exist when the caller's references were bound. Returns null if no
  // loaded file defines the name.
  void* find(const char* name) {
    void* const global = dlsym(RTLD_NEXT, name);
    if (global && !is_later_than_caller(global)) return global;
    if (void* const own = find_in_own_scope(name); own) return own;
    return global ? global : find_anywhere(name);
  }

 private:
  [[nodiscard]] std::size_t index_of(std::uint64_t address) const {
    const auto at =
        std::ranges::find_if(files_, [address](const LoadedFile& file) { return file.contains(address); });
    return static_cast<std::size_t>(at - files_.begin());
  }

  // Returns whether the function's file was loaded after the caller's, and not together with it.
  [[nodiscard]] bool is_later_than_caller(const void* function) {
    const auto index = index_of(reinterpret_cast<std::uint64_t>(function));
    if (caller_ >= files_.size() || index >= files_.size() || index <= caller_) return false;
    begin_own_scope();
    return std::ranges::find(own_scope_, index) == own_scope_.end();
  }

  // Collects the candidates for the file that dlopen(3) was called with: the caller's and each earlier file that
  // needs it (roots_), and their dependencies (own_scope_).
  void begin_own_scope() {
    if (has_own_scope_ || !caller()) return;
    has_own_scope_ = true;
    std::vector<LinkInfo> linked;
    std::unordered_map<std::string_view, std::size_t> by_name;
    for (std::size_t i = 0; i < files_.size(); ++i) {
      const auto& one = linked.emplace_back(read_link_info(files_[i]));
      const std::string_view path = files_[i].path;
      for (const auto name : {one.own, path, path.substr(path.rfind('/') + 1)})
        if (!name.empty()) by_name.emplace(name, i);  // the first of several
    }
    for (std::size_t root = 0; root <= caller_; ++root) {
      auto closure = closure_of(root, linked, by_name);
      if (std::ranges::find(closure, caller_) == closure.end()) continue;
      if (!files_[root].path.empty() && !is_in_terrace(files_[root].low)) roots_.push_back(root);
      own_scope_.insert(own_scope_.end(), closure.begin(), closure.end());
    }
  }

  // Returns the file and all libraries that it needs, directly or through others (DT_NEEDED).
  static std::vector<std::size_t> closure_of(std::size_t root, const std::vector<LinkInfo>& linked,
                                             const std::unordered_map<std::string_view, std::size_t>& by_name) {
    std::vector<std::size_t> closure{root};
    for (std::size_t i = 0; i < closure.size(); ++i)
      for (const auto name : linked[closure[i]].needed)
        if (const auto at = by_name.find(name);
            at != by_name.end() && std::ranges::find(closure, at->second) == closure.end())
          closure.push_back(at->second);
    return closure;
  }

  // Returns the first definition in libraries that were opened for other callers.
  void* find_anywhere(const char* name) {
    for (std::size_t i = 0; i < files_.size(); ++i)
      if (!files_[i].path.empty() && !is_in_terrace(files_[i].low))
        if (void* const found = find_behind(i, name)) return found;
    return nullptr;
  }

  // Searches a file and its dependencies, except Terrace's library.
  void* find_behind(std::size_t file, const char* name) {
    handles_of_.resize(files_.size());
    auto& handle = handles_of_[file];
    if (!handle) {
      handle = dlopen(files_[file].path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
      if (!handle) return nullptr;
      handles_.push_back(handle);
    }
    void* const found = dlsym(handle, name);
    return found && !is_in_terrace(reinterpret_cast<std::uint64_t>(found)) ? found : nullptr;
  }

  std::vector<LoadedFile> files_;
  std::size_t caller_;  // index of the calling file; files_.size(): code that was generated at run time
  bool has_own_scope_ = false;
  std::vector<std::size_t> own_scope_;
  std::vector<std::size_t> roots_;
  std::vector<void*> handles_of_;  // by file; null: not opened yet
  std::vector<void*> handles_;
};

// Finds the innermost return address outside this library and the dynamic linker. With an auditing library
// (LD_AUDIT) that traces returns, the dynamic linker makes the call instead of the program.
std::uint64_t caller_behind_linker() noexcept {
  struct Walk {
    std::uint64_t linker, found;
  } walk{getauxval(AT_BASE), 0};
  _Unwind_Backtrace(
      [](_Unwind_Context* context, void* data) {
        auto& into = *static_cast<Walk*>(data);
        const std::uint64_t address = _Unwind_GetIP(context);
        Dl_info found;
        const bool is_known =
            dladdr(reinterpret_cast<const void*>(address), &found) != 0;  // NOLINT(performance-no-int-to-ptr)
        if (is_in_terrace(address) ||
            (is_known && reinterpret_cast<std::uint64_t>(found.dli_fbase) == into.linker))
          return _URC_NO_REASON;
        into.found = address;
        return _URC_END_OF_STACK;
      },
      &walk);
  return walk.found;
}

// Returns whether the address is in code that was generated at run time; false if the C library lacks
// _dl_find_object(3).
bool is_outside_modules([[maybe_unused]] std::uint64_t address) noexcept {
#ifdef DLFO_STRUCT_HAS_EH_DBASE
  // Looked up at run time: older C libraries (before glibc 2.35) lack it.
  static constinit NextFunction<int (*)(void*, dl_find_object*)> find{"_dl_find_object"};
  dl_find_object found;
  void* const code = reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr)
  return *find && (*find)(code, &found) != 0;
#else
  return false;
#endif
}

}  // namespace

std::vector<void*> find_in_own_scope_of(std::uint64_t address, std::span<const char* const> names) {
  CallerScope scope(address);
  std::vector<void*> found;
  for (const auto* const name : names) found.push_back(scope.find_in_own_scope(name));
  return found;
}

// Makes or revalidates the caller's table. Called at a module's first call, and at the first behind dlclose(3).
const CallerFunctions::Table& CallerFunctions::bind(std::uint64_t caller) noexcept {
  const observe::AgentScope scope;
  const auto unloads = g_unloads.load(std::memory_order_acquire);
  const Table* table = is_outside_modules(caller) ? table_of({}) : nullptr;
  if (!table || table->unloads_.load(std::memory_order_relaxed) != unloads) try {
      table = &bind_module(caller, unloads);
    } catch (const std::exception&) {  // no memory
      table = &last_resort_;
    }
  return *table;
}

CallerFunctions::Table* CallerFunctions::table_of(AddressRange module) const noexcept {
  Table* table = first_.load(std::memory_order_acquire);
  while (table && (table->low_ != module.low || table->high_ != module.high)) table = table->next_;
  return table;
}

const CallerFunctions::Table& CallerFunctions::bind_module(std::uint64_t caller, std::uint32_t unloads) {
  CallerScope scope(caller);
  if (scope.is_called_by_linker())
    if (const auto behind = caller_behind_linker(); behind != 0)
      return table_for(reinterpret_cast<const void*>(behind));  // NOLINT(performance-no-int-to-ptr)
  std::vector<void*> found(names_.size());
  std::ranges::transform(names_, found.begin(), [&](const char* name) { return scope.find(name); });
  const auto module = scope.caller() ? AddressRange{scope.caller()->low, scope.caller()->high} : AddressRange{};
  const auto is_same = [](void* one, const std::atomic<void*>& other) { return one == other.load(); };
  if (Table* const known = table_of(module);
      known && std::equal(found.begin(), found.end(), known->functions_, is_same)) {
    known->unloads_.store(unloads, std::memory_order_release);
    return *known;
  }
  auto functions = std::make_unique<std::atomic<void*>[]>(found.size());
  for (std::size_t i = 0; i < found.size(); ++i) functions[i].store(found[i], std::memory_order_relaxed);
  auto* const made = new Table;  // never freed: a thread may be about to call by it
  made->owner_ = this;
  made->low_ = module.low;
  made->high_ = module.high;
  made->functions_ = functions.release();
  made->unloads_.store(unloads, std::memory_order_relaxed);
  made->next_ = first_.load(std::memory_order_relaxed);
  while (!first_.compare_exchange_weak(made->next_, made, std::memory_order_acq_rel)) {
  }
  return *made;
}

// Resolves a function that was undefined when the table was bound: a library loaded since may define it.
void* CallerFunctions::Table::find_again(std::size_t number) const noexcept {
  const observe::AgentScope scope;
  void* function = nullptr;
  try {
    function = CallerScope(low_).find(owner_->names_[number]);
  } catch (const std::exception&) {  // no memory
    function = dlsym(RTLD_NEXT, owner_->names_[number]);
  }
  functions_[number].store(function, std::memory_order_relaxed);
  return function;
}

}  // namespace terrace::agent

// Calls the next dlclose(3) directly, unlike dlsym(3) and dlopen(3) (later_files.cpp): it ignores its return
// address.
extern "C" TERRACE_EXPORT int dlclose(void* handle) noexcept {
  const int error = terrace::agent::close_library(handle);
  terrace::agent::CallerFunctions::note_unload();
  return error;
}
