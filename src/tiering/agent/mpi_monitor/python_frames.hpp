// SPDX-License-Identifier: Apache-2.0
// Reads the Python frames of the calling thread inside of an MPI call, by CPython's C API, which is looked up at
// run time. PythonPaths uses it.
//
// mpi4py releases the global interpreter lock (GIL) around MPI calls, so each function here acquires it, and waits
// for other Python threads. None is acquired before the interpreter is initialised, while it is finalised, or in a
// thread that Python does not know. The error indicator is preserved, and no garbage is collected meanwhile:
// destructors of the program would run inside of its MPI call.
//
// Identity of activations: an activation's frame object keeps its address, but a later one may get the same
// address. A reference would prevent that, and would keep the local variables, large arrays for example, after the
// function has returned. So a frame is marked instead: its attribute f_trace_lines, true in a new frame, is set to
// false. Only trace functions (sys.settrace) regard it; where one is set, no frame is marked and frames are
// unavailable. A debugger that starts later (pdb before 3.13) does not stop at lines of the marked frames.
//
// References to code objects are kept, so that their addresses stay theirs. Not thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/mpi/python_loops.hpp"

namespace terrace::agent {

struct PythonApi;

class PythonFrames {
 public:
  static constexpr std::size_t k_max_depth = 256;
  static constexpr std::size_t k_max_codes = 4096;

  // Looks up the functions of the interpreter. Adds the functions of the program to `loops`, which is borrowed.
  explicit PythonFrames(runtime::PythonLoops& loops);

  // Returns the calling thread's frames, outermost first; null: unavailable. Valid until the next call.
  const std::vector<runtime::PythonFrame>* read();
  // Returns "step:33".
  [[nodiscard]] std::string name(std::uint32_t code, runtime::PythonOffset offset) const;

 private:
  struct Code {
    void* object = nullptr;  // a reference is held
    std::string function;
  };
  struct Frame {
    void* object = nullptr;
    runtime::PythonFrame frame;
  };

  bool read_stack();
  std::optional<std::uint32_t> number_of(void* code);
  std::optional<std::uint32_t> add(void* code);
  std::uint64_t activation_of(void* frame, std::size_t depth);

  runtime::PythonLoops& loops_;
  const PythonApi* api_;  // null: there is no interpreter that is supported
  std::vector<Code> codes_;
  std::unordered_map<void*, std::uint32_t> numbers_;
  std::vector<void*> objects_, last_objects_;  // frames, outermost first; not dereferenced after the call
  std::vector<runtime::PythonFrame> frames_, last_frames_;
  std::uint64_t num_activations_ = 0;
};

}  // namespace terrace::agent
