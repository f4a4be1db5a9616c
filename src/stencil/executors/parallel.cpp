// SPDX-License-Identifier: Apache-2.0
// Executor `parallel`: runs loop by loop, each by all threads. The engine creates it for executor=parallel in
// TERRACE_STENCIL.
#include <chrono>

#include "stencil/execute/active_loop.hpp"
#include "stencil/execute/in_memory.hpp"

namespace terrace::stencil {
namespace {

// Returns the part of a range that a thread runs: a slice of the outermost dimension that is long enough, else
// of the longest. One thread computes the partial result of a row.
Range piece(const Range& range, std::ptrdiff_t number, std::ptrdiff_t of, bool cuts_rows) {
  std::size_t d = range.length(2) >= of || range.length(2) > range.length(1) ? 2 : 1;
  if (cuts_rows && range.length(d) < of && range.length(0) > range.length(d)) d = 0;
  Range part = range;
  part.begin[d] = range.begin[d] + range.length(d) * number / of;
  part.end[d] = range.begin[d] + range.length(d) * (number + 1) / of;
  return part;
}

class Parallel final : public InMemory {
 public:
  using InMemory::InMemory;
  [[nodiscard]] std::ptrdiff_t count() { return static_cast<std::ptrdiff_t>(team().size()); }
  void run(std::span<const Loop> chain, Reductions& reductions) override {
    std::vector<ActiveLoop> all;
    for (const auto& loop : chain) all.push_back(begin(loop, views(loop), reductions));
    team().run([&](std::size_t number) {
      auto begun = std::chrono::steady_clock::now();
      for (const auto& running : all) {
        running.run_part(
            piece(running.loop->range, static_cast<std::ptrdiff_t>(number), count(), running.partials.empty()));
        team().barrier();
        if (team().failed()) return;
        if (number > 0) continue;
        const auto now = std::chrono::steady_clock::now();
        note(*running.loop, std::chrono::duration<double>(now - begun).count());
        begun = now;
      }
    });
    for (const auto& running : all) reductions.combine(*running.loop, running.partials);
  }
};

class ParallelVariant final : public ExecutorVariant {
 public:
  [[nodiscard]] std::string_view name() const override { return "parallel"; }
  [[nodiscard]] std::vector<std::string_view> words() const override { return {"threads", "paged", "folder"}; }
  [[nodiscard]] std::unique_ptr<Executor> make(const Options& options, Statistics& statistics) const override {
    return std::make_unique<Parallel>(options, statistics);
  }
};

}  // namespace

const ExecutorVariant& parallel_executor() {
  static const ParallelVariant variant;
  return variant;
}

}  // namespace terrace::stencil
