// SPDX-License-Identifier: Apache-2.0
// Disassembles code with Capstone, for the launcher's symbol files. See disassembly.hpp.
//
// The program's own work excludes calls of hooks, register-to-register copies, accesses to the stack and saved
// registers, because nearly all registers have to be saved around the call of a hook. Each other instruction
// counts as one, except those that occupy a core's divider.
#include "observe/symbols/files/disassembly.hpp"

#include <capstone/capstone.h>
#include <gelf.h>

#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "observe/code/no_return.hpp"
#include "observe/hooks/hook_names.hpp"

namespace terrace::observe {

namespace {

using Code = Disassembly::Code;

// Throughput: a division or square root of doubles every four to six cycles, other instructions four a cycle (Fog,
// Instruction tables, Intel Ice Lake and AMD Zen 4: DIVSD, SQRTSD).
constexpr std::uint32_t k_division = 16;

using Hooks = std::map<std::uint64_t, Hook>;  // by address

bool is_text(std::string_view name) { return !name.starts_with(".plt"); }

// Returns the sections with code.
std::vector<Code> find_code(Elf* elf) {
  std::vector<Code> found;
  std::size_t names = 0;
  if (elf_getshdrstrndx(elf, &names) != 0) return found;
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf, section)) != nullptr;) {
    GElf_Shdr header;
    if (!gelf_getshdr(section, &header) || header.sh_type != SHT_PROGBITS ||
        (header.sh_flags & SHF_EXECINSTR) == 0)
      continue;
    const Elf_Data* const data = elf_rawdata(section, nullptr);
    const char* const name = elf_strptr(elf, names, header.sh_name);
    if (!data || !data->d_buf || !name) continue;
    found.push_back(
        {header.sh_addr, {static_cast<const std::uint8_t*>(data->d_buf), data->d_size}, !is_text(name)});
  }
  return found;
}

// The GOT slots with the addresses of hooks, of functions that do not return, and of the byte that disables
// tracing.
struct Slots {
  Hooks hooks;
  std::uint64_t unhooked = 0;        // 0: none
  std::set<std::uint64_t> noreturn;  // slots of functions that do not return
};

// Finds the GOT slots by the file's relocations.
Slots find_slots(Elf* elf) {
  Slots slots;
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf, section)) != nullptr;) {
    GElf_Shdr header;
    GElf_Shdr symbols_header;
    if (!gelf_getshdr(section, &header) || header.sh_type != SHT_RELA || header.sh_entsize == 0) continue;
    Elf_Scn* const symbols_section = elf_getscn(elf, header.sh_link);
    Elf_Data* const data = elf_getdata(section, nullptr);
    if (!symbols_section || !data || !gelf_getshdr(symbols_section, &symbols_header)) continue;
    Elf_Data* const symbols = elf_getdata(symbols_section, nullptr);
    const auto count = static_cast<int>(header.sh_size / header.sh_entsize);
    for (int i = 0; symbols && i < count; ++i) {
      GElf_Rela relocation;
      GElf_Sym symbol;
      if (!gelf_getrela(data, i, &relocation) ||
          !gelf_getsym(symbols, static_cast<int>(GELF_R_SYM(relocation.r_info)), &symbol))
        continue;
      const char* const name = elf_strptr(elf, symbols_header.sh_link, symbol.st_name);
      if (!name) continue;
      if (const auto hook = hook_of(name); hook != Hook::none) slots.hooks.emplace(relocation.r_offset, hook);
      if (never_returns(name)) slots.noreturn.insert(relocation.r_offset);
      if (name == k_unhooked) slots.unhooked = relocation.r_offset;
    }
  }
  return slots;
}

}  // namespace

class Disassembly::Reader {
 public:
  explicit Reader(Slots slots) : slots_(std::move(slots)) {
    if (cs_open(CS_ARCH_X86, CS_MODE_64, &capstone_) != CS_ERR_OK) return;
    cs_option(capstone_, CS_OPT_DETAIL, CS_OPT_ON);
    instruction_ = cs_malloc(capstone_);
  }
  ~Reader() {
    if (instruction_) cs_free(instruction_, 1);
    if (capstone_ != 0) cs_close(&capstone_);
  }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  // Finds the PLT entries of hooks and of functions that do not return, before the code that calls them is read.
  void learn_linkage(const Code& code) {
    std::uint64_t begin = code.address;
    each(code.address, code.bytes, [&](const cs_insn& found) {
      constexpr std::uint64_t k_entry = 16;  // with its alignment
      if (found.address % k_entry == 0) begin = found.address;
      if (!in_group(found, CS_GRP_JUMP)) return;
      if (const auto hook = hook_at(slot_of(found)); hook != Hook::none) {
        linkage_.emplace(begin, hook);
        linkage_.emplace(found.address, hook);
      }
      if (slots_.noreturn.contains(slot_of(found))) noreturn_.insert({begin, found.address});
    });
  }
  [[nodiscard]] std::vector<Instruction> read(std::uint64_t address, std::span<const std::uint8_t> bytes) {
    std::vector<Instruction> all;
    // The test of the tracing byte after calls has three instructions that are not the program's.
    constexpr int k_asking = 3;
    int asking = 0;
    each(address, bytes, [&](const cs_insn& found) {
      if (asks(found)) asking = k_asking;
      if (asking > 0)
        --asking;
      else
        all.push_back(examine(found));
    });
    return all;
  }

 private:
  template <class Visit>
  void each(std::uint64_t address, std::span<const std::uint8_t> bytes, Visit visit) {
    if (!instruction_) return;
    const auto* at = bytes.data();
    auto left = bytes.size();
    while (left > 0) {
      if (cs_disasm_iter(capstone_, &at, &left, &address, instruction_)) {
        visit(*instruction_);
      } else {  // data, or an instruction unknown to Capstone
        ++at, ++address, --left;
      }
    }
  }
  [[nodiscard]] bool in_group(const cs_insn& found, cs_group_type group) const {
    return cs_insn_group(capstone_, &found, static_cast<unsigned>(group));
  }
  // Returns the slot of an indirect jump or call with a PC-relative operand; 0: none.
  static std::uint64_t slot_of(const cs_insn& found) {
    const auto& x86 = found.detail->x86;
    return x86.op_count == 1 ? address_of(found, x86.operands[0]) : 0;
  }
  // Returns the address of a PC-relative operand; 0: none.
  static std::uint64_t address_of(const cs_insn& found, const cs_x86_op& operand) {
    if (operand.type != X86_OP_MEM || operand.mem.base != X86_REG_RIP) return 0;
    return found.address + found.size + static_cast<std::uint64_t>(operand.mem.disp);
  }
  static std::uint64_t target_of(const cs_insn& found) {
    const auto& x86 = found.detail->x86;
    return x86.op_count == 1 && x86.operands[0].type == X86_OP_IMM
               ? static_cast<std::uint64_t>(x86.operands[0].imm)
               : 0;
  }
  // Returns whether the instruction loads the byte that disables tracing.
  [[nodiscard]] bool asks(const cs_insn& found) const {
    const auto& x86 = found.detail->x86;
    return slots_.unhooked != 0 && found.id == X86_INS_MOV && x86.op_count == 2 &&
           address_of(found, x86.operands[1]) == slots_.unhooked;
  }
  [[nodiscard]] Hook hook_at(std::uint64_t slot) const {
    const auto found = slots_.hooks.find(slot);
    return found == slots_.hooks.end() ? Hook::none : found->second;
  }
  [[nodiscard]] Hook hook_called(const cs_insn& found) const {
    if (const auto hook = hook_at(slot_of(found)); hook != Hook::none) return hook;
    const auto entry = linkage_.find(target_of(found));
    return entry == linkage_.end() ? Hook::none : entry->second;
  }

  [[nodiscard]] bool is_endless(const cs_insn& found) const {
    return slots_.noreturn.contains(slot_of(found)) || noreturn_.contains(target_of(found));
  }

  // Returns an instruction's control flow, the hook that it calls, and its work.
  [[nodiscard]] Instruction examine(const cs_insn& found) const {
    Instruction instruction{.at = found.address, .next = found.address + found.size};
    const bool jumps = in_group(found, CS_GRP_JUMP);
    const bool returns = in_group(found, CS_GRP_RET);
    const bool calls = in_group(found, CS_GRP_CALL);
    if (calls || jumps) instruction.hook = hook_called(found);
    instruction.jumps = jumps || returns;
    if (jumps) instruction.target = target_of(found);
    const bool always = found.id == X86_INS_JMP;
    const bool ends = found.id == X86_INS_UD2 || found.id == X86_INS_HLT || (calls && is_endless(found));
    instruction.falls_through = !returns && !always && !ends;
    // A jump through a GOT slot is a tail call and not indirect.
    instruction.has_indirect_jump = always && instruction.target == 0 && slot_of(found) == 0;
    instruction.calls = calls && instruction.hook == Hook::none;
    if (instruction.hook == Hook::none) instruction.work = work_of(found);
    return instruction;
  }

  static bool is_stack(const cs_x86_op& operand) {
    return operand.type == X86_OP_MEM && operand.mem.base == X86_REG_RSP;
  }
  static bool is_register(const cs_x86_op& operand) { return operand.type == X86_OP_REG; }
  // Returns whether the instruction writes a register of a hook's parameter.
  static bool is_parameter(const cs_x86_op& operand) {
    return is_register(operand) && (operand.reg == X86_REG_RDI || operand.reg == X86_REG_RSI ||
                                    operand.reg == X86_REG_EDI || operand.reg == X86_REG_ESI);
  }
  // Returns the instructions of the program's own that the instruction counts as.
  static std::uint32_t work_of(const cs_insn& found) {
    const auto& operands = found.detail->x86.operands;
    const auto count = found.detail->x86.op_count;
    const std::string_view name(found.mnemonic);
    if (name == "nop" || name.starts_with("endbr") || name == "push" || name == "pop") return 0;
    if (name == "lea" && is_parameter(operands[0])) return 0;
    if (name.starts_with("mov") && count == 2) {
      if (is_stack(operands[0]) || is_stack(operands[1])) return 0;
      if (is_register(operands[0]) && is_register(operands[1]) && operands[0].size == operands[1].size) return 0;
      if (is_parameter(operands[0]) && operands[1].type == X86_OP_IMM) return 0;
    }
    if (name.find("div") != std::string_view::npos || name.find("sqrt") != std::string_view::npos)
      return k_division;
    return 1;
  }

  csh capstone_ = 0;
  cs_insn* instruction_ = nullptr;
  Slots slots_;
  Hooks linkage_;
  std::set<std::uint64_t> noreturn_;  // PLT entries of functions that do not return
};

Disassembly::Disassembly(Elf* elf, Scope scope) {
  auto slots = find_slots(elf);
  if (slots.hooks.empty() && scope == Scope::hooked_modules) return;
  reader_ = std::make_unique<Reader>(std::move(slots));
  for (const auto& part : find_code(elf)) {
    if (part.linkage)
      reader_->learn_linkage(part);
    else
      code_.push_back(part);
  }
}

Disassembly::~Disassembly() = default;

std::vector<Instruction> Disassembly::read(std::uint64_t address, std::span<const std::uint8_t> bytes) const {
  return reader_ ? reader_->read(address, bytes) : std::vector<Instruction>{};
}

}  // namespace terrace::observe
