// The code of a program by addresses that it had in a process that is over, as another tool has written them down:
// called what `terrace run` calls it when it names an object by who allocated it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "observe/symbols/symbols.hpp"

namespace terrace::observe {

class ProgramSites {
 public:
  // `bias`: where that process had the beginning of a program that may lie anywhere; one that may not lies where
  // its file says. Of a file that is no program of this machine nothing is found.
  ProgramSites(const std::string& program, std::uint64_t bias);

  struct Site {
    std::string name;      // "makea cg.cpp:120", "makea+0x1c"
    std::string function;  // "": not known
    bool is_allocator = false;
  };
  // Nothing where the address is none of the program's.
  [[nodiscard]] std::optional<Site> find(std::uint64_t address) const;

 private:
  SymbolTable table_;
};

}  // namespace terrace::observe
