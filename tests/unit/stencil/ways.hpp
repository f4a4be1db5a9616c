// Lists every way to run a program of several blocks: all executors, and ranks on threads.
#pragma once

#include <gtest/gtest.h>

#include <mutex>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "stencil/engine/engine.hpp"
#include "thread_ranks.hpp"

namespace terrace::stencil::test {

// Runs with one context, or on several threads as ranks.
struct Way {
  Options options;
  std::size_t ranks = 1;
};

[[nodiscard]] inline std::vector<Way> ways() {
  return {{{.executor = "serial"}},
          {{.executor = "parallel", .threads = 2}},
          {{.executor = "tiled", .threads = 2, .tile = {7, 5, 0}}},
          {{.executor = "streamed",
            .threads = 1,
            .tile = {0, 4, 0},
            .memory = 256 << 10,
            .folder = testing::TempDir()}},
          {{.executor = "serial"}, 3},
          {{.executor = "tiled", .threads = 1, .tile = {9, 4, 0}, .depth = 2}, 2}};
}

// Returns the first rank's result; the others must be equal.
template <class Work>
auto in(const Way& way, Work work) {
  using Result = decltype(work(std::declval<Context&>()));
  if (way.ranks == 1) {
    Context context(way.options);
    return work(context);
  }
  std::mutex mutex;
  std::optional<Result> found;
  run_ranks(way.ranks, [&](std::unique_ptr<Ranks> ranks) {
    std::optional<Context> context;
    {
      const std::scoped_lock lock(mutex);
      context.emplace(std::make_unique<Engine>(way.options, std::move(ranks)));
    }
    auto result = work(*context);
    const std::scoped_lock lock(mutex);
    if (found && *found != result) throw std::runtime_error("ranks have different results");
    found = std::move(result);
    context.reset();
  });
  return *found;
}

}  // namespace terrace::stencil::test
