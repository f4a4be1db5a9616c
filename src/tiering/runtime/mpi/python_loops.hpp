// SPDX-License-Identifier: Apache-2.0
// Derives loops and their iterations in a Python program from the Python frames at successive MPI calls. The
// agent's MPI monitor passes them to the loop finder (mpi_loop_finder.hpp).
//
// The outermost activation that two successive calls have in common, and whose position or callee has changed,
// shows what happened between them: if the later position cannot follow the earlier one within an iteration of the
// innermost loop around both, an iteration of that loop has ended. The same position again, with another callee,
// is that case.
//
// Limits, as positions alone show the loops:
// - Iterations without any call are not seen.
// - Two calls, each in a branch of its own, may be in one iteration or in two; one is assumed.
// - Of nested loops in one function, the outer one's iterations are seen only if it makes a call outside of the
// inner
//   one. Otherwise the position is the same, and the inner loop gets the iteration.
// - A library that calls back into Python (a matrix-free solver) repeats a position without a loop.
// - A loop over a generator that makes calls, inside of another loop, gets an iteration of the other one.
//
// Not thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "runtime/mpi/mpi_calls.hpp"
#include "runtime/mpi/python_code.hpp"

namespace terrace::runtime {

struct PythonFrame {
  std::uint64_t activation = 0;  // equal numbers in successive lists: the same activation of a function
  std::uint32_t code = 0;        // number of the function's code
  PythonOffset offset = 0;       // of the instruction that is executed
};

class PythonLoops {
 public:
  // Adds a function's code. Returns its number, from 0.
  std::uint32_t add(PythonCode code);
  [[nodiscard]] const PythonCode& code(std::uint32_t number) const { return codes_[number]; }

  // Reports a call. `frames`: outermost first. `native_path`: from the interpreter to MPI, as one call of a Python
  // library may make several MPI calls. Returns the loop of which an iteration has ended since the last call.
  std::optional<LoopHead> advance(std::span<const PythonFrame> frames, CallPath native_path);
  // Returns the loops around a call, outermost first; of a recursive function, those of its outermost activation.
  [[nodiscard]] std::vector<LoopHead> loops_at(std::span<const PythonFrame> frames) const;

  // The code's number, and the head's offset in it.
  [[nodiscard]] static std::uint32_t code_of(LoopHead head);
  [[nodiscard]] static PythonOffset offset_of(LoopHead head);

 private:
  std::vector<PythonCode> codes_;
  std::vector<PythonFrame> last_;
  CallPath first_path_ = 0;  // the first native path from the present position
};

}  // namespace terrace::runtime
