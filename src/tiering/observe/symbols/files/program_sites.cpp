// SPDX-License-Identifier: Apache-2.0
// Implements the look-up of code addresses of past runs: see program_sites.hpp.
#include "observe/symbols/files/program_sites.hpp"

#include <fcntl.h>
#include <gelf.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "observe/symbols/files/symbols_facts.hpp"
#include "observe/symbols/files/symbols_writer.hpp"

namespace terrace::observe {

namespace {

struct EndElf {
  void operator()(Elf* elf) const { elf_end(elf); }
};

// The program's address range in its file; low > high where it is no program.
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

}  // namespace

ProgramSites::ProgramSites(const std::string& program, std::uint64_t bias) {
  elf_version(EV_CURRENT);
  const int file = open(program.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  LoadedModule module;
  SymbolFacts facts;
  {
    const std::unique_ptr<Elf, EndElf> elf(elf_begin(file, ELF_C_READ, nullptr));
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

}  // namespace terrace::observe
