// A module's code, instruction by instruction, as far as hooks and jumps are concerned.
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
  std::uint64_t target = 0;  // of a jump within the module
  std::uint32_t work = 0;    // as much as so many instructions of the program's own
  Hook hook = Hook::none;
  bool jumps = false;
  bool falls_through = true;       // to the next one
  bool has_indirect_jump = false;  // to where the program computes
  bool calls = false;              // a function that is no hook
};

class Disassembly {
 public:
  explicit Disassembly(Elf* elf);
  ~Disassembly();
  Disassembly(const Disassembly&) = delete;
  Disassembly& operator=(const Disassembly&) = delete;

  struct Code {
    std::uint64_t address = 0;
    std::span<const std::uint8_t> bytes;
    bool linkage = false;  // jumps to other modules' functions
  };
  // Without the linker's own; none where nothing calls a hook.
  [[nodiscard]] const std::vector<Code>& code() const { return code_; }
  [[nodiscard]] std::vector<Instruction> read(std::uint64_t address, std::span<const std::uint8_t> bytes) const;

 private:
  class Reader;
  std::vector<Code> code_;
  std::unique_ptr<Reader> reader_;
};

}  // namespace terrace::observe
