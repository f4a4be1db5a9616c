// Holds traces in memory, for tests.
#pragma once

#include <utility>
#include <vector>

#include "gpu_sim/trace/warp_trace.hpp"

namespace terrace::gpu_sim {

// Stores a trace, and replays it from the beginning for each Replay.
class StoredTrace final : public TraceSink {
 public:
  struct KeptKernel {
    Kernel kernel;
    std::vector<Cta> ctas;
  };
  std::vector<std::pair<TraceEvent, std::size_t>> events;  // with the index in `kernels` after a kernel
  std::vector<KeptKernel> kernels;

  void add(const Allocation& allocation) override { events.emplace_back(allocation, 0); }
  void begin(const Kernel& kernel) override {
    events.emplace_back(kernel, kernels.size());
    kernels.push_back({kernel, {}});
  }
  void add(const Cta& cta) override { kernels.back().ctas.push_back(cta); }
};

class Replay final : public TraceSource {
 public:
  explicit Replay(const StoredTrace& trace) : trace_(trace) {}
  bool next(TraceEvent& event) override {
    if (at_ == trace_.events.size()) return false;
    event = trace_.events[at_].first;
    if (std::holds_alternative<Kernel>(event)) kernel_ = &trace_.kernels[trace_.events[at_].second];
    cta_ = 0;
    ++at_;
    return true;
  }
  bool next_cta(Cta& cta) override {
    if (kernel_ == nullptr || cta_ == kernel_->ctas.size()) return false;
    cta = kernel_->ctas[cta_++];
    return true;
  }

 private:
  const StoredTrace& trace_;
  const StoredTrace::KeptKernel* kernel_ = nullptr;
  std::size_t at_ = 0;
  std::size_t cta_ = 0;
};

}  // namespace terrace::gpu_sim
