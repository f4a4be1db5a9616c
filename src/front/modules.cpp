// Loaded modules and their static data. See modules.hpp.
#include "front/modules.hpp"

#include <elf.h>
#include <limits.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <mutex>

#include "access/spin_lock.hpp"
#include "access/thread.hpp"
#include "front/object_registry.hpp"
#include "front/process.hpp"

namespace terrace::front {

namespace {

constexpr std::uint64_t k_page = 4096;

constinit access::SpinLock g_lock;              // of the symbol table
constinit unsigned long long g_loads_seen = 0;  // how many modules had ever been loaded when we last looked

struct Segment {
  std::uint64_t low = 0, high = 0;
};
constexpr std::size_t k_most_segments = 8;

struct Found {
  access::LoadedModule module;
  Segment writable[k_most_segments];
  std::size_t segments = 0;
};

// The build-id of a loaded module, from its notes in memory.
std::span<const std::uint8_t> find_build_id(const dl_phdr_info& info, const ElfW(Phdr) & header) {
  const auto* at = reinterpret_cast<const std::uint8_t*>(info.dlpi_addr + header.p_vaddr);
  const auto* const end = at + header.p_memsz;
  const auto align = [&](std::uint64_t size) { return (size + 3) & ~std::uint64_t{3}; };
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

Found examine(const dl_phdr_info& info, char* executable) {
  Found found;
  auto& module = found.module;
  module.bias = info.dlpi_addr;
  module.path = info.dlpi_name;
  module.low = ~std::uint64_t{0};
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const auto& header = info.dlpi_phdr[i];
    const auto low = info.dlpi_addr + header.p_vaddr;
    const auto high = low + header.p_memsz;
    if (header.p_type == PT_LOAD) {
      module.low = std::min(module.low, low & ~(k_page - 1));
      module.high = std::max(module.high, (high + k_page - 1) & ~(k_page - 1));
      if ((header.p_flags & PF_W) != 0 && found.segments < k_most_segments)
        found.writable[found.segments++] = {low, high};
    } else if (header.p_type == PT_NOTE && module.build_id.empty()) {
      module.build_id = find_build_id(info, header);
    }
  }
  if (!module.path || !*module.path) {  // the executable itself, or the kernel's page
    const auto length = readlink("/proc/self/exe", executable, PATH_MAX - 1);
    executable[std::max<ssize_t>(length, 0)] = '\0';
    module.path = executable;
  }
  return found;
}

const char* base_name(const char* path) {
  const char* const slash = std::strrchr(path, '/');
  return slash ? slash + 1 : path;
}

// A segment's variables as objects, in the order of their addresses; the registry settles who has a shared page.
void register_segment(Process& process, std::size_t index, const Segment& segment) {
  const auto& module = process.symbols->module(index);
  char rest[256];
  std::snprintf(rest, sizeof rest, "(globals %s)", base_name(module.path));
  // First all of it, then each variable takes its pages.
  process.objects->add(rest, profile::ObjectKind::fixed, segment.low & ~(k_page - 1),
                       (segment.high + k_page - 1) & ~(k_page - 1));
  for (const auto& variable : process.symbols->variables(index)) {
    const auto low = variable.low + module.bias;
    const auto high = low + variable.size;
    if (variable.size < k_page || low < segment.low || high > segment.high) continue;
    const auto kind =
        (variable.flags & access::k_symbol_common) ? profile::ObjectKind::common : profile::ObjectKind::fixed;
    process.objects->add(process.symbols->text(index, variable.name), kind, low, high);
  }
}

struct Visit {
  Process& process;
  char executable[PATH_MAX];
  bool first = true;
};

int visit_module(dl_phdr_info* info, std::size_t, void* context) {
  auto& visit = *static_cast<Visit*>(context);
  if (visit.first && info->dlpi_adds == g_loads_seen) return 1;  // nothing new
  if (visit.first) g_loads_seen = info->dlpi_adds;
  visit.first = false;
  const auto found = examine(*info, visit.executable);
  auto& symbols = *visit.process.symbols;
  const auto known = symbols.modules();
  const int index = symbols.add_module(found.module);
  if (index < 0 || static_cast<std::size_t>(index) < known || !symbols.described(static_cast<std::size_t>(index)))
    return 0;
  for (std::size_t i = 0; i < found.segments; ++i)
    register_segment(visit.process, static_cast<std::size_t>(index), found.writable[i]);
  return 0;
}

}  // namespace

void note_modules(Process& process) noexcept {
  const access::Inside inside;
  const std::lock_guard lock(g_lock);
  Visit visit{process, {}, true};
  dl_iterate_phdr(visit_module, &visit);
}

access::SymbolTable::Site find_symbol(Process& process, std::uint64_t address) noexcept {
  {
    const std::lock_guard lock(g_lock);
    if (const auto site = process.symbols->find(address); site.module >= 0) return site;
  }
  note_modules(process);
  const std::lock_guard lock(g_lock);
  return process.symbols->find(address);
}

bool find_module(Process& process, std::uint64_t address, access::LoadedModule& module) noexcept {
  const auto site = find_symbol(process, address);
  if (site.module < 0) return false;
  const std::lock_guard lock(g_lock);
  module = process.symbols->module(static_cast<std::size_t>(site.module));
  return true;
}

void lock_modules() { g_lock.lock(); }
void unlock_modules() { g_lock.unlock(); }

}  // namespace terrace::front
