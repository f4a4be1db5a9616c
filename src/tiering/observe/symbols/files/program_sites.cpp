// SPDX-License-Identifier: Apache-2.0
// Resolves code addresses of past runs, and reads functions from symbol tables, for imports of other tools'
// profiles (Python bindings). See program_sites.hpp.
#include "observe/symbols/files/program_sites.hpp"

#include <fcntl.h>
#include <gelf.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "observe/symbols/files/symbols_facts.hpp"
#include "observe/symbols/files/symbols_writer.hpp"
#include "observe/symbols/symbol_names.hpp"

namespace terrace::observe {

namespace {

struct ElfEnder {
  void operator()(Elf* elf) const { elf_end(elf); }
};

// Returns the program's address range in its file; low > high where it is no program.
LoadedModule loaded(Elf* elf) {
  LoadedModule module;
  module.low = ~std::uint64_t{0};
  std::size_t count = 0;
  if (!elf || elf_kind(elf) != ELF_K_ELF || elf_getphdrnum(elf, &count) != 0) return module;
  for (std::size_t i = 0; i < count; ++i) {
    GElf_Phdr segment;
    if (!gelf_getphdr(elf, static_cast<int>(i), &segment) || segment.p_type != PT_LOAD) continue;
    module.low = std::min<std::uint64_t>(module.low, segment.p_vaddr);
    module.high = std::max<std::uint64_t>(module.high, segment.p_vaddr + segment.p_memsz);
  }
  return module;
}

std::vector<GElf_Phdr> code_segments(Elf* elf) {
  std::vector<GElf_Phdr> segments;
  std::size_t count = 0;
  if (elf_getphdrnum(elf, &count) != 0) return segments;
  for (std::size_t i = 0; i < count; ++i) {
    GElf_Phdr segment;
    if (gelf_getphdr(elf, static_cast<int>(i), &segment) && segment.p_type == PT_LOAD &&
        (segment.p_flags & PF_X) != 0)
      segments.push_back(segment);
  }
  return segments;
}

// Returns the file offset of an address; nothing outside of the segments.
std::optional<std::uint64_t> offset_of(std::uint64_t address, const std::vector<GElf_Phdr>& segments) {
  for (const auto& segment : segments)
    if (address >= segment.p_vaddr && address - segment.p_vaddr < segment.p_filesz)
      return address - segment.p_vaddr + segment.p_offset;
  return std::nullopt;
}

}  // namespace

ProgramSites::ProgramSites(const std::string& program, std::uint64_t bias) {
  elf_version(EV_CURRENT);
  const int file = open(program.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  LoadedModule module;
  SymbolFacts facts;
  {
    const std::unique_ptr<Elf, ElfEnder> elf(elf_begin(file, ELF_C_READ, nullptr));
    module = loaded(elf.get());
    GElf_Ehdr head;
    if (module.low < module.high && gelf_getehdr(elf.get(), &head)) {
      module.bias = head.e_type == ET_DYN ? bias : 0;
      read_build_id(elf.get(), facts);
    }
  }
  close(file);
  if (module.low >= module.high) return;
  const auto symbols = write_symbol_file(program, symbol_cache());
  if (symbols.empty() || !table_.add_file(symbols.c_str())) return;
  module.path = program.c_str();
  module.low += module.bias;
  module.high += module.bias;
  module.build_id = facts.build_id;
  table_.add_module(module);
}

std::optional<ProgramSites::Site> ProgramSites::find(std::uint64_t address) const {
  const auto site = table_.find(address);
  if (site.module < 0) return {};
  std::array<char, 512> text;
  return Site{std::string(table_.describe(site, address, text.data(), text.size())),
              site.function ? site.function : "", site.allocator};
}

std::vector<FunctionRange> function_ranges(const std::string& file) {
  std::vector<FunctionRange> ranges;
  elf_version(EV_CURRENT);
  const int descriptor = open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return ranges;
  {
    const std::unique_ptr<Elf, int (*)(Elf*)> elf(elf_begin(descriptor, ELF_C_READ, nullptr), elf_end);
    if (elf && elf_kind(elf.get()) == ELF_K_ELF) {
      SymbolFacts facts;
      read_elf_symbols(elf.get(), facts);
      const auto segments = code_segments(elf.get());
      for (const auto& function : facts.functions)
        if (const auto begin = offset_of(function.low, segments))
          ranges.push_back({*begin, *begin + function.size, source_name(facts.strings.at(function.name))});
    }
  }
  close(descriptor);
  return ranges;
}

}  // namespace terrace::observe
