// SPDX-License-Identifier: Apache-2.0
// Executor `serial`: runs loop by loop on one thread; the engine creates it for executor=serial in
// TERRACE_STENCIL. It is the reference for all others.
#include <chrono>

#include "stencil/execute/active_loop.hpp"
#include "stencil/execute/in_memory.hpp"

namespace terrace::stencil {
namespace {

class Serial final : public InMemory {
 public:
  using InMemory::InMemory;
  void run(std::span<const Loop> chain, Reductions& reductions) override {
    for (const auto& loop : chain) {
      const auto running = begin(loop, views(loop), reductions);
      const auto start = std::chrono::steady_clock::now();
      running.run_part(loop.range);
      note(loop, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
      reductions.combine(loop, running.partials);
    }
  }
};

class SerialVariant final : public ExecutorVariant {
 public:
  [[nodiscard]] std::string_view name() const override { return "serial"; }
  [[nodiscard]] std::vector<std::string_view> words() const override { return {"paged", "folder"}; }
  [[nodiscard]] std::unique_ptr<Executor> make(const Options& options, Statistics& statistics) const override {
    return std::make_unique<Serial>(options, statistics);
  }
};

}  // namespace

const ExecutorVariant& serial_executor() {
  static const SerialVariant variant;
  return variant;
}

}  // namespace terrace::stencil
