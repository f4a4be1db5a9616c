// SPDX-License-Identifier: Apache-2.0
// Reads the ranges of functions from symbol tables: see function_ranges.hpp.
#include "observe/symbols/files/function_ranges.hpp"

#include <fcntl.h>
#include <gelf.h>
#include <unistd.h>

#include <memory>
#include <optional>

#include "observe/symbols/files/symbols_facts.hpp"
#include "observe/symbols/symbol_names.hpp"

namespace terrace::observe {

namespace {

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

std::optional<std::uint64_t> offset_of(std::uint64_t address, const std::vector<GElf_Phdr>& segments) {
  for (const auto& segment : segments)
    if (address >= segment.p_vaddr && address - segment.p_vaddr < segment.p_filesz)
      return address - segment.p_vaddr + segment.p_offset;
  return std::nullopt;
}

}  // namespace

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
