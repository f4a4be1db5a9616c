// SPDX-License-Identifier: Apache-2.0
// Numbers the call paths of MPI calls in Python programs: the native path and the positions of the Python
// functions. The MPI monitor uses it for calls from an interpreter (mpi_monitor.hpp).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/mpi_monitor/python_frames.hpp"
#include "runtime/mpi/python_loops.hpp"

namespace terrace::agent {

class PythonPaths {
 public:
  static constexpr std::size_t k_max_paths = 4096;

  struct Call {
    runtime::CallPath path = 0;
    bool is_new = false;
    std::optional<runtime::LoopHead> ended_loop;  // of which an iteration has ended
  };

  // Returns the call's path; nothing: the frames are unavailable, or there are too many paths. Requires: inside of
  // the call.
  std::optional<Call> find(runtime::CallPath native_path);
  // Returns whether the path is one of these. They differ from those of CallPaths.
  [[nodiscard]] static bool contains(runtime::CallPath path) { return (path & k_python_path) != 0; }
  // Returns the loops around a path's call, outermost first.
  [[nodiscard]] std::vector<runtime::LoopHead> loops(runtime::CallPath path) const;
  [[nodiscard]] runtime::CallPath native_path(runtime::CallPath path) const { return at(path).first; }
  // Returns "step:33".
  [[nodiscard]] std::string site_name(runtime::CallPath path) const;
  [[nodiscard]] std::string loop_name(runtime::LoopHead head) const;

 private:
  static constexpr runtime::CallPath k_python_path = runtime::CallPath{1} << 31;

  using Position = std::pair<std::uint32_t, runtime::PythonOffset>;  // code, offset
  using Key = std::pair<runtime::CallPath, std::vector<Position>>;   // native path; outermost first

  [[nodiscard]] const Key& at(runtime::CallPath path) const { return *paths_[path & ~k_python_path]; }

  runtime::PythonLoops loops_;
  PythonFrames frames_{loops_};
  Key key_;  // of the call, kept for its memory
  std::map<Key, runtime::CallPath> numbers_;
  std::vector<const Key*> paths_;
};

}  // namespace terrace::agent
