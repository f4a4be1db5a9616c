// SPDX-License-Identifier: Apache-2.0
// Finds the loops of single functions by the table of unwind information and the code's control flow (Capstone).
// See function_loops.hpp.
#include "observe/symbols/files/function_loops.hpp"

#include <fcntl.h>
#include <gelf.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <utility>

#include "observe/symbols/files/code_blocks.hpp"
#include "observe/symbols/files/disassembly.hpp"
#include "observe/symbols/files/iteration_address.hpp"

namespace terrace::observe {

namespace {

// The loops of one function, with what its code borrows.
struct Function {
  std::vector<Instruction> code;
  std::vector<CodeBlock> blocks;
  LoopMarks marks;
  std::vector<std::uint64_t> back;
  std::map<BlockIndex, std::uint64_t> iterations;  // by head: iteration_address(), once it was requested
};

// Returns the begins of the functions, ascending, from the search table of .eh_frame_hdr (Linux Standard Base Core
// 5.0, section 10.6.2): pairs of a function's begin and its unwind information, relative to the section.
std::vector<std::uint64_t> read_function_begins(Elf* elf) {
  std::vector<std::uint64_t> begins;
  std::size_t names = 0;
  if (elf_getshdrstrndx(elf, &names) != 0) return begins;
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf, section)) != nullptr;) {
    GElf_Shdr header;
    if (!gelf_getshdr(section, &header)) continue;
    const char* const name = elf_strptr(elf, names, header.sh_name);
    if (!name || std::strcmp(name, ".eh_frame_hdr") != 0) continue;
    const Elf_Data* const data = elf_rawdata(section, nullptr);
    // The linkers write version 1, a 4-byte pointer, a 4-byte count, and pairs of signed 4-byte offsets.
    constexpr std::uint8_t k_head[] = {1, 0x1b, 0x03, 0x3b};
    constexpr std::size_t k_table = 12;
    if (!data || data->d_size < k_table || std::memcmp(data->d_buf, k_head, sizeof k_head) != 0) return begins;
    const auto* const bytes = static_cast<const std::uint8_t*>(data->d_buf);
    std::uint32_t count = 0;
    std::memcpy(&count, bytes + 8, sizeof count);
    for (std::size_t i = 0; i < count && k_table + 8 * (i + 1) <= data->d_size; ++i) {
      std::int32_t offset = 0;
      std::memcpy(&offset, bytes + k_table + 8 * i, sizeof offset);
      begins.push_back(header.sh_addr + static_cast<std::uint64_t>(static_cast<std::int64_t>(offset)));
    }
  }
  std::ranges::sort(begins);
  return begins;
}

}  // namespace

struct FunctionLoops::State {
  explicit State(const std::string& file) : fd(open(file.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (fd < 0) return;
    elf_version(EV_CURRENT);
    elf = elf_begin(fd, ELF_C_READ_MMAP, nullptr);
    GElf_Ehdr header;
    if (!elf || elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, &header) || header.e_machine != EM_X86_64) return;
    begins = read_function_begins(elf);
    disassembly.emplace(elf, Disassembly::Scope::all_modules);
  }
  ~State() {
    disassembly.reset();
    if (elf) elf_end(elf);
    if (fd >= 0) close(fd);
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  // Returns the function at the address, or null.
  Function* find(std::uint64_t address) {
    const auto after = functions.upper_bound(address);
    if (after != functions.begin())
      if (auto& [begin, entry] = *std::prev(after); address < entry.first) return &entry.second;
    // A function extends to the begin of the next one.
    const auto next = std::ranges::upper_bound(begins, address);
    if (next == begins.begin()) return nullptr;
    const auto begin = *std::prev(next);
    for (const auto& part : disassembly->code()) {
      const auto end_of_part = part.address + part.bytes.size();
      if (address < part.address || address >= end_of_part || begin < part.address) continue;
      const auto end = next == begins.end() ? end_of_part : std::min(*next, end_of_part);
      auto& [last, function] = functions[begin];
      last = end;
      function.code = disassembly->read(begin, part.bytes.subspan(begin - part.address, end - begin));
      function.blocks = cut_blocks(function.code);
      function.marks = mark_loops(flow_blocks(function.blocks));
      function.back = back_edges(function.blocks, function.marks.forest);
      return &function;
    }
    return nullptr;
  }

  int fd;
  Elf* elf = nullptr;
  std::vector<std::uint64_t> begins;  // of all functions
  std::optional<Disassembly> disassembly;
  std::map<std::uint64_t, std::pair<std::uint64_t, Function>> functions;  // by begin: end and loops
};

FunctionLoops::FunctionLoops(const std::string& file) : state_(std::make_unique<State>(file)) {}
FunctionLoops::~FunctionLoops() = default;

std::vector<CodeLoop> FunctionLoops::around(std::uint64_t address) {
  std::vector<CodeLoop> loops;
  auto* const function = state_->disassembly ? state_->find(address) : nullptr;
  if (!function || function->blocks.empty()) return loops;
  const auto& blocks = function->blocks;
  const auto after = std::ranges::upper_bound(blocks, address, {}, [](CodeBlock one) { return one.front().at; });
  if (after == blocks.begin()) return loops;
  const auto block = static_cast<BlockIndex>(after - blocks.begin() - 1);
  const auto& flow = function->marks.flow;
  const auto& forest = function->marks.forest;
  for (auto head = forest.loop_of(block); head != k_no_block; head = forest.around[head]) {
    const auto [known, is_new] = function->iterations.try_emplace(head);
    if (is_new) known->second = iteration_address(blocks, flow, forest, head);
    const bool is_innermost = loops.empty();
    loops.push_back({blocks[head].front().at, function->back[head], known->second,
                     is_innermost && is_on_every_cycle(flow, forest, head, block)});
  }
  std::ranges::reverse(loops);
  return loops;
}

}  // namespace terrace::observe
