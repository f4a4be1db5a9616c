// SPDX-License-Identifier: Apache-2.0
// Registers loaded modules (the executable and libraries) with their symbols and static data, and finds the
// function at an address, for all code of the agent that names call sites, functions and loops. See modules.hpp.
#include "agent/lifecycle/modules.hpp"

#include <elf.h>
#include <limits.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <exception>
#include <mutex>
#include <string>
#include <vector>

#include "agent/heap/object_registry.hpp"
#include "agent/heap/static_data.hpp"
#include "agent/lifecycle/in_process.hpp"
#include "agent/lifecycle/module_code.hpp"
#include "agent/lifecycle/process.hpp"
#include "agent/lifecycle/program_work.hpp"
#include "core/rounding.hpp"
#include "observe/access_sink.hpp"
#include "observe/coverage/code_map.hpp"
#include "observe/objects/spin_lock.hpp"
#include "observe/threads/thread.hpp"

namespace terrace::agent {

namespace {

constinit observe::SpinLock g_lock;                         // guards the symbol table
constinit std::atomic<unsigned long long> g_loads_seen{0};  // dlpi_adds at the last call

// Description of a loaded module. A copy, because the module may be unloaded meanwhile.
struct FoundModule {
  observe::LoadedModule module;
  std::string path;
  std::vector<std::uint8_t> build_id;
  std::vector<AddressRange> writable;
  HookedCode code;
};

// Returns the build-id of a loaded module from its notes in memory.
std::span<const std::uint8_t> find_build_id(const dl_phdr_info& info, const ElfW(Phdr) & header) {
  const auto* at = reinterpret_cast<const std::uint8_t*>(info.dlpi_addr + header.p_vaddr);
  const auto* const end = at + header.p_memsz;
  const auto align = [](std::uint64_t size) { return (size + 3) & ~std::uint64_t{3}; };
  while (at + sizeof(ElfW(Nhdr)) <= end) {
    const auto& note = *reinterpret_cast<const ElfW(Nhdr)*>(at);
    const auto* const name = at + sizeof note;
    const auto* const text = name + align(note.n_namesz);
    if (text + note.n_descsz > end) break;
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && std::memcmp(name, "GNU", 4) == 0)
      return {text, note.n_descsz};
    at = text + align(note.n_descsz);
  }
  return {};
}

std::string executable_path() {
  char path[PATH_MAX];
  const auto length = readlink("/proc/self/exe", path, sizeof path);
  return {path, static_cast<std::size_t>(std::max<ssize_t>(length, 0))};
}

// Describes a loaded module: its address range, build-id, writable segments and, if wanted, hooks: for them all
// relocations are read.
FoundModule examine(const dl_phdr_info& info, bool wants_hooks) {
  FoundModule found;
  auto& module = found.module;
  module.bias = info.dlpi_addr;
  module.low = ~std::uint64_t{0};
  // The executable has an empty name.
  found.path = info.dlpi_name && *info.dlpi_name ? info.dlpi_name : executable_path();
  if (wants_hooks) found.code = find_hooks(info);
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const auto& header = info.dlpi_phdr[i];
    const auto low = info.dlpi_addr + header.p_vaddr;
    const auto high = low + header.p_memsz;
    if (header.p_type == PT_LOAD) {
      module.low = std::min(module.low, page_down(low));
      module.high = std::max(module.high, page_up(high));
      if ((header.p_flags & PF_W) != 0) found.writable.push_back({low, high});
    } else if (header.p_type == PT_NOTE && found.build_id.empty()) {
      const auto id = find_build_id(info, header);
      found.build_id.assign(id.begin(), id.end());
    }
  }
  return found;
}

struct ModuleSearch {
  bool wants_hooks;
  std::vector<FoundModule> all;
};

// Adds a module to the list; called by dl_iterate_phdr(3). Stops at once if nothing was loaded since the last
// call.
int collect_module(dl_phdr_info* info, std::size_t, void* context) noexcept {
  auto& [wants_hooks, all] = *static_cast<ModuleSearch*>(context);
  if (all.empty() && g_loads_seen.exchange(info->dlpi_adds) == info->dlpi_adds) return 1;  // nothing new
  try {
    all.push_back(examine(*info, wants_hooks));
  } catch (const std::exception&) {
    return 1;  // no memory to note it
  }
  return 0;
}

const char* base_name(const char* path) {
  const char* const slash = std::strrchr(path, '/');
  return slash ? slash + 1 : path;
}

// Registers a segment's variables, and the data between them, as objects.
void register_segment(Process& process, std::size_t index, const AddressRange& segment) {
  const auto& module = process.symbols->module(index);
  std::vector<AddressRange> ranges;
  std::vector<const observe::SymbolVariable*> variables;
  for (const auto& variable : process.symbols->variables(index)) {
    const auto low = variable.low + module.bias;
    if (variable.size < k_page || low < segment.low || low + variable.size > segment.high) continue;
    ranges.push_back({low, low + variable.size});
    variables.push_back(&variable);
  }
  const auto rest = "(globals " + std::string(base_name(module.path)) + ")";
  for (const auto& piece : cut_segment(segment, ranges)) {
    if (piece.variable == StaticPiece::k_rest) {
      process.objects->add_pages(rest, observe::ObjectKind::fixed, piece.pages.low, piece.pages.high,
                                 piece.pages.low, piece.pages.high);
      continue;
    }
    const auto& variable = *variables[piece.variable];
    const auto kind =
        (variable.flags & observe::k_symbol_common) ? observe::ObjectKind::common : observe::ObjectKind::fixed;
    process.objects->add_pages(process.symbols->text(index, variable.name), kind, piece.pages.low,
                               piece.pages.high, ranges[piece.variable].low, ranges[piece.variable].high);
  }
}

// Adds a module to the symbol table, and registers its static data if a symbol file describes it.
void note_module(Process& process, FoundModule& found) {
  found.module.path = found.path.c_str();
  found.module.build_id = found.build_id;
  auto& symbols = *process.symbols;
  const auto known = symbols.modules();
  const int index = symbols.add_module(found.module);
  if (index < 0 || static_cast<std::size_t>(index) < known) return;
  if (process.work) process.work->invalidate();
  if (!symbols.is_described(static_cast<std::size_t>(index))) return;
  for (const auto& segment : found.writable) register_segment(process, static_cast<std::size_t>(index), segment);
}

// Updates the map of code with and without hooks, by which the coverage attributes time samples.
void note_code(observe::CodeMap& code, const std::vector<FoundModule>& all) {
  std::vector<observe::LoadedCode> loaded;
  for (const auto& found : all) {
    const auto& module = found.module;
    const auto kind = is_in_terrace(module.low) ? observe::CodeKind::terrace
                      : found.code.hooks        ? observe::CodeKind::hooks
                                                : observe::CodeKind::no_hooks;
    auto low = module.low;
    for (const auto& part : found.code.uninstrumented) {
      if (low < part.low) loaded.push_back({low, part.low, found.path, kind});
      loaded.push_back({part.low, part.high, found.path, observe::CodeKind::no_hooks});
      low = part.high;
    }
    if (low < module.high) loaded.push_back({low, module.high, found.path, kind});
  }
  code.update(loaded);
}

}  // namespace

void note_modules(Process& process) noexcept {
  const observe::RuntimeScope inside;
  // Lock order: take the dynamic linker's lock and g_lock one after the other, never nested. The linker allocates
  // while it holds its lock, which may take g_lock.
  ModuleSearch search{process.map != nullptr || process.code != nullptr, {}};
  dl_iterate_phdr(collect_module, &search);
  auto& all = search.all;
  const std::lock_guard lock(g_lock);
  try {
    if (process.code && !all.empty()) note_code(*process.code, all);
    for (auto& found : all) {
      process.has_hooks = process.has_hooks || (found.code.hooks && !is_in_terrace(found.module.low));
      note_module(process, found);
    }
  } catch (const std::exception&) {
    // No memory: unregistered symbols are shown as offsets.
  }
}

FoundSymbol find_symbol(Process& process, std::uint64_t address) noexcept {
  const auto look = [&]() -> FoundSymbol {
    const std::lock_guard lock(g_lock);
    const auto site = process.symbols->find(address);
    if (site.module < 0) return {site, "", false};
    const auto index = static_cast<std::size_t>(site.module);
    return {site, process.symbols->module(index).path, process.symbols->is_described(index)};
  };
  auto found = look();
  if (found.site.module >= 0) return found;
  note_modules(process);
  return look();
}

observe::SymbolTable::Work find_work(Process& process, std::uint64_t site) noexcept {
  constexpr observe::SymbolTable::Work k_unknown{.instructions = observe::k_instructions_per_access};
  const auto before = find_symbol(process, site - 1);
  if (!before.described) return k_unknown;
  const std::lock_guard lock(g_lock);
  return process.symbols->work(site).value_or(k_unknown);
}

bool has_work(Process& process, std::uint64_t site) noexcept {
  if (!find_symbol(process, site - 1).described) return true;
  const std::lock_guard lock(g_lock);
  return process.symbols->work(site).has_value();
}

std::string name_of_function(Process& process, std::uint64_t address) {
  if (!find_symbol(process, address).described) return {};
  const std::lock_guard lock(g_lock);
  return process.symbols->function_of(address);
}

observe::LoopCode::Loop find_loop(Process& process, observe::LoopId id) noexcept {
  const std::lock_guard lock(g_lock);
  return process.symbols->loop(id);
}

observe::LoopCode::Place find_place(Process& process, std::uint64_t address) noexcept {
  if (!find_symbol(process, address).described) return {};
  const std::lock_guard lock(g_lock);
  return process.symbols->place(address);
}

std::string_view describe_symbol(Process& process, const observe::SymbolTable::Site& site, std::uint64_t address,
                                 char* buffer, std::size_t room) noexcept {
  const std::lock_guard lock(g_lock);
  return process.symbols->describe(site, address, buffer, room);
}

void lock_modules() { g_lock.lock(); }
void unlock_modules() { g_lock.unlock(); }

}  // namespace terrace::agent
