// Common code of the fuzzers of GPU traces: replays a part of a valid trace on a small GPU.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/error.hpp"
#include "gpu_sim/engine/simulator.hpp"
#include "gpu_sim/trace/warp_trace.hpp"
#include "unit/gpu_sim/machine.hpp"

namespace terrace::gpu_sim {

inline void require(bool condition, const char* what, const std::string& text) {
  if (condition) return;
  std::fprintf(stderr, "%s: %s\n", what, text.c_str());
  std::abort();
}

// A refusal is one line that names a file of `folder` (or the file itself) and the byte.
inline void require_refusal(const Error& error, const std::string& folder) {
  const std::string said = error.what();
  require(error.code() == Code::corrupt, "a refusal with another code", said);
  require(said.starts_with(folder) && said.find(", byte ") != std::string::npos && is_name(said),
          "a refusal that is not one line with file and byte", said);
}

// The beginning of a trace: what takes long is cut short, and teaches nothing.
class Beginning final : public TraceSource {
 public:
  explicit Beginning(TraceSource& whole) : whole_(whole) {}

  bool next(TraceEvent& event) override {
    if (kernels_ == k_max_kernels || !whole_.next(event)) return false;
    if (auto* allocation = std::get_if<Allocation>(&event))
      allocation->bytes = std::min(allocation->bytes, k_max_bytes);
    else
      ++kernels_;
    return true;
  }
  bool next_cta(Cta& cta) override {
    if (ctas_ == k_max_ctas || !whole_.next_cta(cta)) return false;
    ++ctas_;
    for (auto& step : cta.steps) step.before = std::min(step.before, k_max_before);
    for (auto& warp : cta.warps) {
      warp.after = std::min(warp.after, k_max_before);
      warp.steps = std::min(warp.steps, k_max_steps);
    }
    return true;
  }

 private:
  static constexpr std::uint32_t k_max_kernels = 4, k_max_ctas = 64, k_max_before = 32, k_max_steps = 256;
  static constexpr std::uint64_t k_max_bytes = 1 << 20;
  TraceSource& whole_;
  std::uint32_t kernels_ = 0;
  std::uint32_t ctas_ = 0;
};

// Moves every second page that is asked for to the GPU's own memory.
class EverySecond final : public PagePlacement {
 public:
  [[nodiscard]] std::uint32_t touch_threshold() const override { return 1; }
  void on_touched(std::uint32_t page, const PageTable&, PageMover& mover) override {
    if (page % 2 == 0) mover.request_move(page, 0);
  }
};

// Replays the beginning of a trace, which must end. Only kernels that fit in no SM and addresses outside of all
// allocations may be refused.
inline void replay_beginning(TraceSource& trace, const std::string& folder) {
  auto gpu = test_gpu();
  gpu.processors = 2;
  gpu.l2.bytes = 16 << 10;  // caches that are quickly made
  Beginning beginning(trace);
  EverySecond placement;
  try {
    static_cast<void>(Simulator(gpu, beginning, placement, {k_all, k_all}).run());
  } catch (const Error& error) {
    if (error.code() == Code::corrupt) return require_refusal(error, folder);
    const std::string said = error.what();
    require(error.code() == Code::invalid && is_name(said), "a replay ends otherwise", said);
  }
}

}  // namespace terrace::gpu_sim
