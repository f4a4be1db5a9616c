// SPDX-License-Identifier: Apache-2.0
// Compares the Python frames of successive MPI calls. See python_loops.hpp.
#include "runtime/mpi/python_loops.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace terrace::runtime {

namespace {

constexpr unsigned k_offset_bits = 32;

LoopHead make_head(std::uint32_t code, PythonOffset offset) {
  return k_reported_head | LoopHead{code} << k_offset_bits | offset;
}

// Returns whether an outer frame is of the same function.
bool is_recursive(std::span<const PythonFrame> frames, std::size_t position) {
  return std::ranges::find(frames.first(position), frames[position].code, &PythonFrame::code) !=
         frames.begin() + static_cast<std::ptrdiff_t>(position);
}

}  // namespace

std::uint32_t PythonLoops::code_of(LoopHead head) {
  return static_cast<std::uint32_t>((head & ~k_reported_head) >> k_offset_bits);
}

PythonOffset PythonLoops::offset_of(LoopHead head) { return static_cast<PythonOffset>(head); }

std::uint32_t PythonLoops::add(PythonCode code) {
  codes_.push_back(std::move(code));
  return static_cast<std::uint32_t>(codes_.size() - 1);
}

std::optional<LoopHead> PythonLoops::advance(std::span<const PythonFrame> frames, CallPath native_path) {
  const auto last = std::exchange(last_, {frames.begin(), frames.end()});
  const auto depth = std::min(last.size(), frames.size());
  std::size_t common = 0;
  while (common < depth && last[common].activation == frames[common].activation) ++common;
  // The outermost one that has moved; else the innermost common one, which has called anew.
  std::size_t changed = 0;
  while (changed < common && last[changed].offset == frames[changed].offset) ++changed;
  const bool is_same_position = changed == common && common == frames.size() && common == last.size();
  if (is_same_position && native_path != first_path_) return std::nullopt;
  first_path_ = native_path;
  if (common == 0) return std::nullopt;
  const auto at = std::min(changed, common - 1);
  const auto& frame = frames[at];
  if (is_recursive(frames, at)) return std::nullopt;
  const auto head = codes_[frame.code].ended_loop(last[at].offset, frame.offset);
  return head ? std::optional(make_head(frame.code, *head)) : std::nullopt;
}

std::vector<LoopHead> PythonLoops::loops_at(std::span<const PythonFrame> frames) const {
  std::vector<LoopHead> heads;
  for (std::size_t i = 0; i < frames.size(); ++i) {
    if (is_recursive(frames, i)) continue;
    for (const auto offset : codes_[frames[i].code].loops_at(frames[i].offset))
      heads.push_back(make_head(frames[i].code, offset));
  }
  return heads;
}

}  // namespace terrace::runtime
