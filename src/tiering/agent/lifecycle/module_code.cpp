// SPDX-License-Identifier: Apache-2.0
// Scans a loaded file's relocations, and its x86-64 code, for calls of instrumentation hooks. Called by the module
// registry and at start-up. See module_code.hpp.
#include "agent/lifecycle/module_code.hpp"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <exception>

#include "agent/lifecycle/in_process.hpp"
#include "observe/hooks/hook_names.hpp"

namespace terrace::agent {

namespace {

const char* at(std::uint64_t address) {
  return reinterpret_cast<const char*>(address);  // NOLINT(performance-no-int-to-ptr)
}

template <class Value>
Value read(std::uint64_t address) {
  Value value;
  std::memcpy(&value, at(address), sizeof value);
  return value;
}

// Tables of a file's dynamic section that describe its undefined symbols.
struct DynamicTables {
  std::uint64_t symbols = 0, names = 0;
  AddressRange relocations[2];  // of data, and of the PLT
};

// Finds the tables of symbols and relocations from the file's dynamic section.
DynamicTables read_tables(const dl_phdr_info& info, const ElfW(Dyn) * entry) {
  // The dynamic linker relocates these values, except in a read-only section (the vDSO).
  const auto address = [&](std::uint64_t value) {
    return value < info.dlpi_addr ? info.dlpi_addr + value : value;
  };
  DynamicTables tables;
  std::uint64_t sizes[2]{};
  for (; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_SYMTAB) tables.symbols = address(entry->d_un.d_ptr);
    if (entry->d_tag == DT_STRTAB) tables.names = address(entry->d_un.d_ptr);
    if (entry->d_tag == DT_RELA) tables.relocations[0].low = address(entry->d_un.d_ptr);
    if (entry->d_tag == DT_RELASZ) sizes[0] = entry->d_un.d_val;
    if (entry->d_tag == DT_JMPREL) tables.relocations[1].low = address(entry->d_un.d_ptr);
    if (entry->d_tag == DT_PLTRELSZ) sizes[1] = entry->d_un.d_val;
  }
  for (int i = 0; i < 2; ++i)
    tables.relocations[i].high = tables.relocations[i].low + (tables.relocations[i].low != 0 ? sizes[i] : 0);
  return tables;
}

// Calls `wanted(name, slot)` for each relocation by an undefined symbol, until a call returns true. Returns
// whether one did.
template <class Wanted>
bool find_undefined(const dl_phdr_info& info, const DynamicTables& tables, Wanted wanted) {
  if (tables.symbols == 0 || tables.names == 0) return false;
  for (const auto& table : tables.relocations)
    for (auto entry = table.low; entry + sizeof(ElfW(Rela)) <= table.high; entry += sizeof(ElfW(Rela))) {
      const auto relocation = read<ElfW(Rela)>(entry);
      const auto number = ELF64_R_SYM(relocation.r_info);
      if (number == 0) continue;
      const auto symbol = read<ElfW(Sym)>(tables.symbols + number * sizeof(ElfW(Sym)));
      if (symbol.st_shndx == SHN_UNDEF &&
          wanted(at(tables.names + symbol.st_name), info.dlpi_addr + relocation.r_offset))
        return true;
    }
  return false;
}

// Returns the slots that hold addresses of hooks, ascending.
std::vector<std::uint64_t> find_hook_slots(const dl_phdr_info& info, const DynamicTables& tables) {
  std::vector<std::uint64_t> slots;
  find_undefined(info, tables, [&](const char* name, std::uint64_t slot) {
    if (observe::hook_of(name) != observe::Hook::none) slots.push_back(slot);
    return false;
  });
  std::sort(slots.begin(), slots.end());
  return slots;
}

const ElfW(Dyn) * dynamic_section(const dl_phdr_info& info) {
  const ElfW(Dyn)* dynamic = nullptr;
  for (int i = 0; i < info.dlpi_phnum; ++i)
    if (info.dlpi_phdr[i].p_type == PT_DYNAMIC)
      dynamic = reinterpret_cast<const ElfW(Dyn)*>(at(info.dlpi_addr + info.dlpi_phdr[i].p_vaddr));
  return dynamic;
}

#if defined(__x86_64__)

// The file's code segments and function entries. .eh_frame_hdr lists functions in ascending order (Linux Standard
// Base, "DWARF Extensions").
class ModuleCode {
 public:
  explicit ModuleCode(const dl_phdr_info& info) {
    std::uint64_t header = 0;
    for (int i = 0; i < info.dlpi_phnum; ++i) {
      const auto& part = info.dlpi_phdr[i];
      const AddressRange range{info.dlpi_addr + part.p_vaddr, info.dlpi_addr + part.p_vaddr + part.p_filesz};
      if (part.p_type == PT_GNU_EH_FRAME) header = range.low;
      if (part.p_type != PT_LOAD) continue;
      const bool readable_code = (part.p_flags & PF_X) != 0 && (part.p_flags & PF_R) != 0;
      (readable_code ? segments_ : data_).push_back(range);
    }
    constexpr std::uint32_t k_encoding =
        0x3b031b01;  // version 1; pointer, count and table as all linkers encode them
    if (header == 0 || read<std::uint32_t>(header) != k_encoding) return;
    const auto count = read<std::uint32_t>(header + 8);
    for (std::uint64_t i = 0; i < count; ++i) {
      const auto begin =
          header + static_cast<std::uint64_t>(std::int64_t{read<std::int32_t>(header + 12 + 8 * i)});
      if (contains(begin)) functions_.push_back(begin);
    }
  }
  [[nodiscard]] bool contains(std::uint64_t address) const { return is_in(segments_, address); }
  [[nodiscard]] bool has_data(std::uint64_t address) const { return is_in(data_, address); }
  [[nodiscard]] std::size_t functions() const { return functions_.size(); }
  // Returns the function's range, including padding up to the next one.
  [[nodiscard]] AddressRange function(std::size_t i) const {
    AddressRange range{functions_[i], i + 1 < functions_.size() ? functions_[i + 1] : 0};
    for (const auto& segment : segments_)
      if (segment.low <= range.low && range.low < segment.high && (range.high == 0 || range.high > segment.high))
        range.high = segment.high;
    return range;
  }

 private:
  static bool is_in(const std::vector<AddressRange>& ranges, std::uint64_t address) {
    return std::any_of(ranges.begin(), ranges.end(),
                       [&](const AddressRange& range) { return range.low <= address && address < range.high; });
  }

  std::vector<AddressRange> segments_;
  std::vector<AddressRange> data_;
  std::vector<std::uint64_t> functions_;
};

enum class CallKind { nothing, others, hooks };

class CallScanner {
 public:
  CallScanner(const ModuleCode& code, const std::vector<std::uint64_t>& slots) : code_(code), slots_(slots) {}

  // Tests every byte as the start of an instruction. Bytes that are none hardly ever encode a slot or code of
  // this file.
  [[nodiscard]] CallKind scan(const AddressRange& function) const {
    constexpr std::uint64_t k_longest = 6;
    auto calls = CallKind::nothing;
    for (auto here = function.low; here + k_longest <= function.high; ++here) {
      const auto byte = read<std::uint8_t>(here);
      if (byte == 0xff) {
        const auto kind = read<std::uint8_t>(here + 1);
        if (kind != k_call_by && kind != k_jump_by) continue;
        if (is_hook_slot(slot_of(here))) return CallKind::hooks;
        if (kind == k_call_by && code_.has_data(slot_of(here))) calls = CallKind::others;
      } else if (byte == 0xe8 || byte == 0xe9) {  // call, jmp
        const auto target = here + 5 + distance(here + 1);
        if (!code_.contains(target)) continue;
        if (leads_to_hook(target)) return CallKind::hooks;
        if (byte == 0xe8) calls = CallKind::others;
      }
    }
    return calls;
  }

 private:
  // 0xff followed by one of these: RIP-relative indirect call or jmp.
  static constexpr std::uint8_t k_call_by = 0x15;
  static constexpr std::uint8_t k_jump_by = 0x25;
  static std::uint64_t distance(std::uint64_t field) {
    return static_cast<std::uint64_t>(std::int64_t{read<std::int32_t>(field)});
  }
  static std::uint64_t slot_of(std::uint64_t here) { return here + 6 + distance(here + 2); }
  [[nodiscard]] bool is_hook_slot(std::uint64_t slot) const {
    return std::binary_search(slots_.begin(), slots_.end(), slot);
  }
  // Returns whether a PLT entry that jumps to a hook is there.
  [[nodiscard]] bool leads_to_hook(std::uint64_t entry) const {
    constexpr std::uint64_t k_entry = 16;
    for (auto here = entry; here + 6 <= entry + k_entry && code_.contains(here + 5); ++here)
      if (read<std::uint8_t>(here) == 0xff)
        return read<std::uint8_t>(here + 1) == k_jump_by && is_hook_slot(slot_of(here));
    return false;
  }

  const ModuleCode& code_;
  const std::vector<std::uint64_t>& slots_;
};

// Returns the ranges of HookedCode::uninstrumented.
std::vector<AddressRange> find_uninstrumented_code(const dl_phdr_info& info,
                                                   const std::vector<std::uint64_t>& slots) {
  const ModuleCode code(info);
  const CallScanner scanner(code, slots);
  std::vector<AddressRange> uninstrumented;
  std::uint64_t end = 0;  // of the last range, including following functions without calls
  for (std::size_t i = 0; i < code.functions(); ++i) {
    const auto function = code.function(i);
    const auto calls = scanner.scan(function);
    if (calls == CallKind::others && !uninstrumented.empty() && end == function.low)
      uninstrumented.back().high = end = function.high;
    else if (calls == CallKind::others)
      end = uninstrumented.emplace_back(function).high;
    else
      end = calls == CallKind::nothing && end == function.low ? function.high : 0;
  }
  return uninstrumented;
}

#else

std::vector<AddressRange> find_uninstrumented_code(const dl_phdr_info&, const std::vector<std::uint64_t>&) {
  return {};
}

#endif

}  // namespace

namespace {

std::vector<std::uint64_t> hook_slots(const dl_phdr_info& info) {
  const auto* const dynamic = dynamic_section(info);
  return dynamic ? find_hook_slots(info, read_tables(info, dynamic)) : std::vector<std::uint64_t>();
}

}  // namespace

HookedCode find_hooks(const dl_phdr_info& info) {
  const auto slots = hook_slots(info);
  if (slots.empty()) return {};
  return {true, find_uninstrumented_code(info, slots)};
}

bool has_hooked_code() noexcept {
  const auto look = [](dl_phdr_info* info, std::size_t, void*) noexcept {
    try {
      return is_in_terrace(info->dlpi_addr) || hook_slots(*info).empty() ? 0 : 1;
    } catch (const std::exception&) {
      return 1;  // no memory: assume that it has
    }
  };
  return dl_iterate_phdr(look, nullptr) != 0;
}

bool uses_terrace(const dl_phdr_info& info) noexcept {
  const auto* const dynamic = dynamic_section(info);
  return dynamic && find_undefined(info, read_tables(info, dynamic), [](const char* name, std::uint64_t) {
           return std::strncmp(name, "terrace_", std::strlen("terrace_")) == 0 ||
                  observe::hook_of(name) != observe::Hook::none;
         });
}

}  // namespace terrace::agent
