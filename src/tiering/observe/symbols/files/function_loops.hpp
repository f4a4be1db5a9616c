// SPDX-License-Identifier: Apache-2.0
// Finds the loops around a call site in an uninstrumented executable or library: disassembles the one function
// that contains the address. The launcher uses it for the programs that it runs (cli/loop_requests.hpp), because
// the library inside a program contains no disassembler.
//
// The extent of a function comes from the unwind information (.eh_frame), which stripped files have, too. x86-64
// only: other files have no loops.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace terrace::observe {

struct CodeLoop {
  std::uint64_t head = 0;       // address of the header
  std::uint64_t back = 0;       // address of the back edge's jump, on the source line of the loop's condition
  std::uint64_t iteration = 0;  // an address that each iteration executes once (iteration_address.hpp); 0: none
  bool is_counted_by_call = false;  // each iteration executes the call site once, in no inner loop
};

class FunctionLoops {
 public:
  // Opens the file. Finds nothing where it is no ELF file of this machine.
  explicit FunctionLoops(const std::string& file);
  ~FunctionLoops();
  FunctionLoops(const FunctionLoops&) = delete;
  FunctionLoops& operator=(const FunctionLoops&) = delete;

  // Returns the loops around the instruction at an address of the file, outermost first.
  [[nodiscard]] std::vector<CodeLoop> around(std::uint64_t address);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace terrace::observe
