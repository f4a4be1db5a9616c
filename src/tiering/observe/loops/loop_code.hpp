// What is known of the loops in a program's code, whoever reads it (symbols/symbols.hpp; tests).
#pragma once

#include <cstdint>

namespace terrace::observe {

// A loop in the code of some module, from 1; 0: none.
using LoopId = std::uint32_t;

class LoopCode {
 public:
  struct Loop {
    std::uint64_t head = 0;  // the address where it begins; 0: there is no such loop
    std::uint64_t back = 0;  // of the jump back there: what belongs to the line that says how it goes on
    LoopId around = 0;
    LoopId last = 0;             // it and all loops in it are numbered from its own to this
    std::uint64_t function = 0;  // where its function begins
  };
  // What the hook of a basic block tells (code/loop_marks.hpp).
  struct Mark {
    LoopId turns = 0;     // the loop that goes round once more
    LoopId enters = 0;    // the loop that begins
    bool at_end = false;  // the turn ends; whether there is another is not known yet
  };
  struct Place {
    LoopId loop = 0;             // the innermost one
    std::uint64_t function = 0;  // where the function begins; 0: nothing is known there
  };

  virtual ~LoopCode() = default;
  // By the address that the hook returns to.
  [[nodiscard]] virtual Mark mark(std::uint64_t site) const = 0;
  [[nodiscard]] virtual Loop loop(LoopId id) const = 0;
  // Of the instruction before a return address.
  [[nodiscard]] virtual Place place(std::uint64_t call_site) const = 0;
};

}  // namespace terrace::observe
