// SPDX-License-Identifier: Apache-2.0
// Maps symbol files and looks up addresses in them, for the agent and the launcher. See symbols.hpp.
#include "observe/symbols/symbols.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <deque>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "core/blob.hpp"
#include "observe/symbols/symbol_names.hpp"

namespace terrace::observe {

namespace {

// A mapped symbol file.
struct File {
  const SymbolFileHeader* header = nullptr;
  std::span<const SymbolFunction> functions;
  std::span<const SymbolSite> sites;
  std::span<const SymbolVariable> variables;
  std::span<const SymbolHook> hooks;
  std::span<const SymbolLoop> loops;
  std::span<const SymbolSpan> spans;
  std::span<const char> strings;
  std::size_t mapped = 0;

  [[nodiscard]] const char* text(std::uint32_t at) const { return at < strings.size() ? &strings[at] : ""; }
};

const char* base_name(const char* path) {
  const char* const slash = std::strrchr(path, '/');
  return slash ? slash + 1 : path;
}

// Sets the tables; returns false where the header does not match the size of the file.
bool open_tables(std::span<const std::byte> bytes, File& file) {
  if (bytes.size() < sizeof(SymbolFileHeader)) return false;
  const auto& header = *reinterpret_cast<const SymbolFileHeader*>(bytes.data());
  if (header.magic != k_symbol_magic || header.version != k_symbol_version) return false;
  if (header.file_bytes != bytes.size() || header.build_id_size > k_build_id_bytes) return false;
  auto rest = bytes.subspan(sizeof header);
  if (crc32c(rest) != header.check) return false;
  const auto take = [&rest]<class Row>(std::uint64_t count, std::span<const Row>& rows) {
    if (count > rest.size() / sizeof(Row)) return false;
    rows = {reinterpret_cast<const Row*>(rest.data()), static_cast<std::size_t>(count)};
    rest = rest.subspan(static_cast<std::size_t>(count) * sizeof(Row));
    return true;
  };
  if (!take(header.functions, file.functions) || !take(header.sites, file.sites) ||
      !take(header.variables, file.variables) || !take(header.hooks, file.hooks) ||
      !take(header.loops, file.loops) || !take(header.spans, file.spans) ||
      !take(header.string_bytes, file.strings))
    return false;
  if (file.strings.empty() || file.strings.back() != '\0') return false;
  file.header = &header;
  file.mapped = bytes.size();
  return true;
}

// Returns the last row that begins at or before the address.
template <class Row>
const Row* last_before(std::span<const Row> rows, std::uint64_t address) {
  const auto after = std::upper_bound(rows.begin(), rows.end(), address,
                                      [](std::uint64_t value, const Row& row) { return value < row.low; });
  return after == rows.begin() ? nullptr : &*(after - 1);
}

// Returns the site of the code at an offset.
void describe_code(const File& file, std::uint64_t offset, SymbolTable::Site& site) {
  if (const auto* const row = last_before(file.sites, offset); row && !(row->flags & k_symbol_no_code)) {
    site.function = file.text(row->function);
    site.file = file.text(row->file);
    site.line = row->line;
    site.allocator = (row->flags & k_symbol_allocator) != 0;
  } else if (const auto* const function = last_before(file.functions, offset);
             function && offset - function->low < function->size) {
    site.function = file.text(function->name);
    site.function_offset = offset - function->low;
    site.allocator = (function->flags & k_symbol_allocator) != 0;
  }
}

}  // namespace

LoopName name_of_loop(std::string function, const SymbolTable::Site& site) {
  return {std::move(function), site.file ? base_name(site.file) : "", site.line, site.function_offset};
}

struct SymbolTable::State {
  struct Module {
    LoadedModule loaded;
    std::string path;
    std::vector<std::uint8_t> build_id;
    const File* file = nullptr;
  };
  [[nodiscard]] const File* file_for(const Module& module) const;
  [[nodiscard]] bool any_has(std::uint64_t flag) const;
  [[nodiscard]] bool any_hooks() const;
  // Returns the module with the address; null: none that a symbol file describes.
  [[nodiscard]] const Module* module_at(std::uint64_t address) const;
  [[nodiscard]] LoopId loop_id(const Module& module, std::uint32_t loop) const;
  // Returns the entry address in the process of the function with the code at the offset; 0: unknown.
  [[nodiscard]] std::uint64_t function(const Module& module, std::uint64_t offset) const;

  std::deque<File> files;
  std::deque<Module> modules;
};

// Returns the symbol file that describes the module; null where it has none.
const File* SymbolTable::State::file_for(const Module& module) const {
  for (const auto& file : files) {
    const std::span id(file.header->build_id.data(), file.header->build_id_size);
    if (id.empty() && module.build_id.empty() ? module.path == file.text(file.header->path)
                                              : std::ranges::equal(id, module.build_id))
      return &file;
  }
  return nullptr;
}

bool SymbolTable::State::any_has(std::uint64_t flag) const {
  return std::ranges::any_of(files, [flag](const File& file) { return (file.header->flags & flag) != 0; });
}

bool SymbolTable::State::any_hooks() const {
  return std::ranges::any_of(files, [](const File& file) { return file.header->hooks > 0; });
}

const SymbolTable::State::Module* SymbolTable::State::module_at(std::uint64_t address) const {
  for (const auto& module : modules)
    if (address >= module.loaded.low && address < module.loaded.high) return module.file ? &module : nullptr;
  return nullptr;
}

// Modules of so many loops have no others.
constexpr std::uint32_t k_loops_of_a_module = 1U << 22;

// Returns the id, unique over all modules, of a module's loop.
LoopId SymbolTable::State::loop_id(const Module& module, std::uint32_t loop) const {
  if (loop == 0 || loop > module.file->loops.size() || loop >= k_loops_of_a_module) return 0;
  for (std::size_t i = 0; i < modules.size(); ++i)
    if (&modules[i] == &module) return static_cast<LoopId>(i) * k_loops_of_a_module + loop;
  return 0;
}

std::uint64_t SymbolTable::State::function(const Module& module, std::uint64_t offset) const {
  const auto* const row = last_before(module.file->functions, offset);
  return row && offset - row->low < row->size ? row->low + module.loaded.bias : 0;
}

SymbolTable::SymbolTable() : state_(std::make_unique<State>()) {}

SymbolTable::~SymbolTable() {
  for (const auto& file : state_->files) munmap(const_cast<SymbolFileHeader*>(file.header), file.mapped);
}

bool SymbolTable::add_file(const char* path) noexcept {
  const int descriptor = open(path, O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return false;
  struct stat status {};
  void* map = MAP_FAILED;
  if (fstat(descriptor, &status) == 0 && status.st_size > 0)
    map = mmap(nullptr, static_cast<std::size_t>(status.st_size), PROT_READ, MAP_PRIVATE, descriptor, 0);
  close(descriptor);
  if (map == MAP_FAILED) return false;
  const auto size = static_cast<std::size_t>(status.st_size);
  try {
    File file;
    if (open_tables({static_cast<const std::byte*>(map), size}, file)) {
      const auto* const added = &state_->files.emplace_back(file);
      for (auto& module : state_->modules)
        if (!module.file && state_->file_for(module) == added) module.file = added;
      return true;
    }
  } catch (const std::exception&) {
    // No memory: treat the file as missing.
  }
  munmap(map, size);
  return false;
}

int SymbolTable::add_module(const LoadedModule& module) noexcept {
  try {
    auto& modules = state_->modules;
    for (std::size_t i = 0; i < modules.size(); ++i)
      if (modules[i].loaded.low == module.low && modules[i].path == module.path) return static_cast<int>(i);
    // The module that was there before has been unloaded.
    for (auto& old : modules)
      if (old.loaded.low < module.high && module.low < old.loaded.high) old.loaded.low = old.loaded.high = 0;
    auto& added = modules.emplace_back();
    added.path = module.path;
    added.build_id.assign(module.build_id.begin(), module.build_id.end());
    added.loaded = module;
    added.loaded.path = added.path.c_str();
    added.loaded.build_id = added.build_id;
    added.file = state_->file_for(added);
    return static_cast<int>(modules.size() - 1);
  } catch (const std::exception&) {
    return -1;
  }
}

SymbolTable::Site SymbolTable::find(std::uint64_t address) const noexcept {
  Site site;
  for (std::size_t i = 0; i < state_->modules.size(); ++i) {
    const auto& module = state_->modules[i];
    if (address < module.loaded.low || address >= module.loaded.high) continue;
    site.module = static_cast<int>(i);
    site.offset = address - module.loaded.bias;
    if (!module.file) return site;
    describe_code(*module.file, site.offset, site);
    return site;
  }
  return site;
}

std::string SymbolTable::function_of(std::uint64_t address) const {
  const auto* const module = state_->module_at(address);
  if (!module) return {};
  const auto offset = address - module->loaded.bias;
  const auto* const row = last_before(module->file->functions, offset);
  return row && offset - row->low < row->size ? source_name(module->file->text(row->name)) : std::string();
}

std::optional<SymbolTable::Work> SymbolTable::work(std::uint64_t site) const noexcept {
  const auto* const module = state_->module_at(site);
  if (!module) return std::nullopt;
  const auto offset = site - module->loaded.bias;
  const auto* const row = last_before(module->file->hooks, offset);
  if (!row || row->low != offset) return std::nullopt;
  return Work{row->instructions,
              {state_->loop_id(*module, row->iterates), state_->loop_id(*module, row->enters), row->at_end != 0}};
}

LoopCode::Place SymbolTable::place(std::uint64_t address) const noexcept {
  const auto* const module = state_->module_at(address);
  if (!module) return {};
  const auto offset = address - module->loaded.bias;
  const auto* const span = last_before(module->file->spans, offset);
  return {span ? state_->loop_id(*module, span->loop) : 0, state_->function(*module, offset)};
}

LoopCode::Loop SymbolTable::loop(LoopId id) const noexcept {
  const auto index = id / k_loops_of_a_module;
  const auto number = id % k_loops_of_a_module;
  if (number == 0 || index >= state_->modules.size()) return {};
  const auto& module = state_->modules[index];
  if (!module.file || number > module.file->loops.size()) return {};
  const auto& row = module.file->loops[number - 1];
  return {row.low + module.loaded.bias, row.back == 0 ? 0 : row.back + module.loaded.bias,
          state_->loop_id(module, row.around), state_->loop_id(module, std::max(row.last, number)),
          state_->function(module, row.low)};
}

std::size_t SymbolTable::modules() const noexcept { return state_->modules.size(); }

const LoadedModule& SymbolTable::module(std::size_t index) const noexcept { return state_->modules[index].loaded; }

bool SymbolTable::is_described(std::size_t index) const noexcept { return state_->modules[index].file != nullptr; }

std::span<const SymbolVariable> SymbolTable::variables(std::size_t index) const noexcept {
  const auto* const file = state_->modules[index].file;
  return file ? file->variables : std::span<const SymbolVariable>{};
}

bool SymbolTable::has_hooks() const noexcept { return state_->any_hooks(); }
bool SymbolTable::has_markers() const noexcept { return state_->any_has(k_symbol_markers); }

bool SymbolTable::may_load_code() const noexcept { return state_->any_has(k_symbol_may_load_code); }

bool SymbolTable::loads_libraries() const noexcept { return state_->any_has(k_symbol_loads_libraries); }

namespace {

// Returns the name of the innermost function inlined at the function's first address.
std::string_view name_at_entry(const File& file, const SymbolFunction& function) {
  const auto* const row = last_before(file.sites, function.low);
  return file.text(row && !(row->flags & k_symbol_no_code) ? row->function : function.name);
}

}  // namespace

std::vector<LoopName> SymbolTable::loop_names() const {
  std::vector<LoopName> names;
  for (const auto& file : state_->files)
    for (const auto& loop : file.loops) {
      Site site;
      describe_code(file, loop.back != 0 ? loop.back : loop.low, site);
      if (site.function) names.push_back(name_of_loop(site.function, site));
    }
  return names;
}

std::set<std::string> SymbolTable::function_names() const {
  std::set<std::string> names;
  for (const auto& file : state_->files)
    for (const auto& function : file.functions)
      if ((function.flags & k_symbol_unhooked) == 0) names.emplace(name_at_entry(file, function));
  return names;
}

std::vector<std::uint64_t> SymbolTable::entry_points(std::string_view name) const {
  std::vector<std::uint64_t> begins;
  for (const auto& module : state_->modules) {
    if (!module.file || module.loaded.high == 0) continue;
    for (const auto& function : module.file->functions)
      if ((function.flags & k_symbol_unhooked) == 0 && name_at_entry(*module.file, function) == name)
        begins.push_back(function.low + module.loaded.bias);
  }
  return begins;
}

const char* SymbolTable::text(std::size_t index, std::uint32_t name) const noexcept {
  const auto* const file = state_->modules[index].file;
  return file ? file->text(name) : "";
}

std::string_view SymbolTable::describe(const Site& site, std::uint64_t address, char* buffer,
                                       std::size_t room) const noexcept {
  if (room == 0) return {};
  int written = 0;
  if (site.function && site.file && is_static_initializer(site.function)) {
    written = std::snprintf(buffer, room, "%s:%u", base_name(site.file), site.line);
  } else if (site.function && site.file) {
    written = std::snprintf(buffer, room, "%s %s:%u", site.function, base_name(site.file), site.line);
  } else if (site.function) {
    written = std::snprintf(buffer, room, "%s+0x%llx", site.function,
                            static_cast<unsigned long long>(site.function_offset));
  } else if (site.module >= 0) {
    const auto& module = state_->modules[static_cast<std::size_t>(site.module)];
    const auto offset = static_cast<unsigned long long>(site.offset);
    const auto& id = module.build_id;
    written = id.size() >= 4
                  ? std::snprintf(buffer, room, "%02x%02x%02x%02x+0x%llx", id[0], id[1], id[2], id[3], offset)
                  : std::snprintf(buffer, room, "%s+0x%llx", base_name(module.path.c_str()), offset);
  } else {
    written = std::snprintf(buffer, room, "0x%llx", static_cast<unsigned long long>(address));
  }
  return {buffer, std::min(room - 1, static_cast<std::size_t>(std::max(written, 0)))};
}

}  // namespace terrace::observe
