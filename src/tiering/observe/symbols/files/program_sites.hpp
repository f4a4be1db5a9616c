// SPDX-License-Identifier: Apache-2.0
// Resolves code addresses of a past run, recorded by another tool, to the names that `terrace run` gives to
// objects allocated there.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "observe/symbols/symbols.hpp"

namespace terrace::observe {

class ProgramSites {
 public:
  // `bias`: load address of a position-independent program in that process; ignored for others. Finds nothing
  // where the file is no program of this machine.
  ProgramSites(const std::string& program, std::uint64_t bias);

  struct Site {
    std::string name;      // "makea cg.cpp:120", "makea+0x1c"
    std::string function;  // "": unknown
    bool is_allocator = false;
  };
  // Returns nothing where the address is not in the program.
  [[nodiscard]] std::optional<Site> find(std::uint64_t address) const;

 private:
  SymbolTable table_;
};

}  // namespace terrace::observe
