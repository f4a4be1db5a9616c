// SPDX-License-Identifier: Apache-2.0
// Disassembles a module's code into instructions with their hooks and control flow. Used for symbol files
// (symbols_code.cpp).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "observe/hooks/hook_names.hpp"

struct Elf;

namespace terrace::observe {

struct Instruction {
  std::uint64_t at = 0, next = 0;
  std::uint64_t target = 0;  // of a jump within the module; 0: none
  std::uint32_t work = 0;    // in instructions of the program's own
  Hook hook = Hook::none;
  bool jumps = false;
  bool falls_through = true;       // to the next instruction
  bool has_indirect_jump = false;  // an indirect jump
  bool calls = false;              // a function that is no hook
};

class Disassembly {
 public:
  enum class Scope : std::uint8_t { hooked_modules, all_modules };
  // Scope::hooked_modules: reads nothing where no code calls a hook.
  explicit Disassembly(Elf* elf, Scope scope = Scope::hooked_modules);
  ~Disassembly();
  Disassembly(const Disassembly&) = delete;
  Disassembly& operator=(const Disassembly&) = delete;

  struct Code {
    std::uint64_t address = 0;
    std::span<const std::uint8_t> bytes;
    bool linkage = false;  // the PLT
  };
  // Returns the code sections without the PLT.
  [[nodiscard]] const std::vector<Code>& code() const { return code_; }
  [[nodiscard]] std::vector<Instruction> read(std::uint64_t address, std::span<const std::uint8_t> bytes) const;

 private:
  class Reader;
  std::vector<Code> code_;
  std::unique_ptr<Reader> reader_;
};

}  // namespace terrace::observe
