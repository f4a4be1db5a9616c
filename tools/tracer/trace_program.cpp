// SPDX-License-Identifier: Apache-2.0
// Reads the traced executable's ELF file and symbols, which name the code and variables of a trace. See
// trace_program.hpp.
#include "tracer/trace_program.hpp"

#include <fcntl.h>
#include <gelf.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "observe/symbols/files/symbols_facts.hpp"
#include "observe/symbols/files/symbols_writer.hpp"

namespace terrace::tracer {

namespace {

constexpr std::uint64_t k_page = 4096;
constexpr std::uint64_t k_unknown = ~std::uint64_t{0};

struct EndElf {
  void operator()(Elf* elf) const { elf_end(elf); }
};

}  // namespace

TraceProgram::TraceProgram(const TraceHeader& header)
    : header_(header), name_(std::filesystem::path(header.program).filename().string()) {
  read();
}

// Reads segments, build-id and symbols. A missing file leaves all of them empty.
void TraceProgram::read() {
  elf_version(EV_CURRENT);
  const int file = open(header_.program.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  {
    const std::unique_ptr<Elf, EndElf> elf(elf_begin(file, ELF_C_READ, nullptr));
    std::size_t count = 0;
    auto first_code = k_unknown;
    std::vector<GElf_Phdr> loaded;
    if (elf && elf_kind(elf.get()) == ELF_K_ELF && elf_getphdrnum(elf.get(), &count) == 0) {
      for (std::size_t i = 0; i < count; ++i) {
        GElf_Phdr segment;
        if (!gelf_getphdr(elf.get(), static_cast<int>(i), &segment) || segment.p_type != PT_LOAD) continue;
        loaded.push_back(segment);
        if ((segment.p_flags & PF_X) != 0) first_code = std::min<std::uint64_t>(first_code, segment.p_vaddr);
      }
      observe::SymbolFacts facts;
      observe::read_build_id(elf.get(), facts);
      build_id_ = facts.build_id;
    }
    if (first_code != k_unknown) {
      bias_ = header_.code_low - first_code;
      for (const auto& segment : loaded) {
        const auto low = segment.p_vaddr + bias_;
        segments_.push_back({"", low, low + segment.p_memsz, (segment.p_flags & PF_W) != 0});
      }
    }
  }
  close(file);
  if (segments_.empty()) return;
  const auto symbols = observe::write_symbol_file(header_.program, observe::symbol_cache());
  if (!symbols.empty()) symbols_.add_file(symbols.c_str());
  observe::LoadedModule module;
  module.path = header_.program.c_str();
  module.bias = bias_;
  module.low = k_unknown;
  for (const auto& segment : segments_) {
    module.low = std::min(module.low, segment.low);
    module.high = std::max(module.high, segment.high);
  }
  module.build_id = build_id_;
  symbols_.add_module(module);
}

std::vector<TraceProgram::Range> TraceProgram::variables() const {
  std::vector<Range> result;
  if (symbols_.modules() == 0) return result;
  std::uint64_t end = 0;
  for (const auto& variable : symbols_.variables(0)) {
    const auto low = variable.low + bias_;
    // Members of a COMMON block and the block itself overlap: the first one in order has the bytes.
    if (variable.size < k_page || low < end) continue;
    end = low + variable.size;
    result.push_back({symbols_.text(0, variable.name), low, end, true});
  }
  return result;
}

std::string TraceProgram::describe(std::uint64_t pc) const {
  char text[512];
  return std::string(symbols_.describe(symbols_.find(pc), pc, text, sizeof text));
}

}  // namespace terrace::tracer
