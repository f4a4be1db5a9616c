// SPDX-License-Identifier: Apache-2.0
// Numbers the call paths of Python programs. See python_paths.hpp.
#include "agent/mpi_monitor/python_paths.hpp"

namespace terrace::agent {

std::optional<PythonPaths::Call> PythonPaths::find(runtime::CallPath native_path) {
  const auto* const frames = frames_.read();
  if (!frames) return std::nullopt;
  key_.first = native_path;
  key_.second.clear();
  for (const auto& frame : *frames) key_.second.emplace_back(frame.code, frame.offset);
  Call call;
  call.ended_loop = loops_.advance(*frames, native_path);
  auto known = numbers_.find(key_);
  if (known == numbers_.end()) {
    if (paths_.size() == k_max_paths) return std::nullopt;
    call.is_new = true;
    const auto number = static_cast<runtime::CallPath>(paths_.size()) | k_python_path;
    known = numbers_.emplace(key_, number).first;
    paths_.push_back(&known->first);
  }
  call.path = known->second;
  return call;
}

std::vector<runtime::LoopHead> PythonPaths::loops(runtime::CallPath path) const {
  std::vector<runtime::PythonFrame> frames;
  for (const auto& [code, offset] : at(path).second) frames.push_back({0, code, offset});
  return loops_.loops_at(frames);
}

std::string PythonPaths::site_name(runtime::CallPath path) const {
  const auto& [code, offset] = at(path).second.back();
  return frames_.name(code, offset);
}

std::string PythonPaths::loop_name(runtime::LoopHead head) const {
  const auto code = runtime::PythonLoops::code_of(head);
  return frames_.name(code, loops_.code(code).statement_of(runtime::PythonLoops::offset_of(head)));
}

}  // namespace terrace::agent
