// SPDX-License-Identifier: Apache-2.0
// Describes the loops in a program's code to the loop tree (loop_tree.hpp). The symbol files implement it for real
// programs (symbols/symbols.hpp), a table for tests. The agent's main-loop detector passes it to the tree.
#pragma once

#include <cstdint>

namespace terrace::observe {

// Identifies a loop in the code of some module, from 1; 0: no loop.
using LoopId = std::uint32_t;

class LoopCode {
 public:
  struct Loop {
    std::uint64_t head = 0;      // address of the loop header; 0: there is no such loop
    std::uint64_t back = 0;      // address of the back edge's jump, on the source line of the loop's condition
    LoopId around = 0;           // the parent loop; 0: none
    LoopId last = 0;             // the loop and its descendants are numbered from its own id to this one
    std::uint64_t function = 0;  // address of the function's entry
  };
  // Report of the hook of a basic block (code/loop_marks.hpp).
  struct Mark {
    LoopId iterates = 0;  // the loop of which an iteration begins, or ends where `at_end` is set; 0: none
    LoopId enters = 0;    // the loop that is entered; 0: none
    bool at_end = false;  // an iteration ends here; whether another follows is not known yet
  };
  struct Place {
    LoopId loop = 0;             // the innermost loop; 0: none
    std::uint64_t function = 0;  // address of the function's entry; 0: the code is not described
  };

  virtual ~LoopCode() = default;
  // Returns what the hook with that return address reports.
  [[nodiscard]] virtual Mark mark(std::uint64_t site) const = 0;
  [[nodiscard]] virtual Loop loop(LoopId id) const = 0;
  // Returns where the instruction before a return address is.
  [[nodiscard]] virtual Place place(std::uint64_t call_site) const = 0;
};

}  // namespace terrace::observe
