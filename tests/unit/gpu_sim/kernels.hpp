// Kernels for tests: a stream and a pointer chase, whose times have closed forms, and one with all kinds of
// accesses.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

#include "gpu_sim/engine/simulator.hpp"
#include "gpu_sim/simt/device.hpp"
#include "machine/gpu.hpp"
#include "traces.hpp"

namespace terrace::gpu_sim {

// Reads all of an array once, one line per warp access.
inline StoredTrace streaming(std::int32_t ctas) {
  StoredTrace trace;
  Device device(trace);
  auto x = device.array<float>("x", static_cast<std::size_t>(ctas) * 1024);
  device.launch({"stream", ctas, 256}, [&](Thread& t) {
    const auto first = t.block() * 1024 + t.thread();
    const auto a = t.load(x, first);
    const auto b = t.load(x, first + 256);
    const auto c = t.load(x, first + 512);
    const auto d = t.load(x, first + 768);
    static_cast<void>(a + b + c + d);
  });
  return trace;
}

// A single thread follows pointers through `lines` lines in a random order.
inline StoredTrace chase(std::size_t lines, std::int32_t steps) {
  StoredTrace trace;
  Device device(trace);
  constexpr std::size_t words = 32;
  auto next = device.array<std::int32_t>("next", lines * words);
  std::vector<std::int32_t> order(lines);
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin() + 1, order.end(), std::mt19937(1));
  for (std::size_t i = 0; i < lines; ++i)
    next.host()[static_cast<std::size_t>(order[i]) * words] =
        order[(i + 1) % lines] * static_cast<std::int32_t>(words);
  device.launch({"chase", 1, 1}, [&](Thread& t) {
    auto at = t.own(0);
    for (const auto i : t.range(0, steps)) {
      static_cast<void>(i);
      at = t.load(next, at);
    }
    static_cast<void>(at + 1);
  });
  return trace;
}

// Loads, stores and atomics at loaded addresses, some of them in one branch only.
inline StoredTrace mixed(unsigned seed) {
  StoredTrace trace;
  Device device(trace);
  std::mt19937 random(seed);
  const auto size = std::size_t{1} << (14 + seed % 4);
  auto x = device.array<std::int32_t>("x", size);
  auto y = device.array<std::int32_t>("y", size);
  auto sums = device.array<std::int32_t>("sums", 1024);
  for (auto& element : x.host()) element = static_cast<std::int32_t>(random() % size);
  for (int k = 0; k < 3; ++k) {
    device.launch({"mixed", 60, 128}, [&](Thread& t) {
      const auto i = t.index();
      const auto target = t.load(x, i);
      const auto value = t.load(y, target);
      if (target % 3 == 0)
        t.store(y, target, value + 1);
      else if (target % 3 == 1)
        static_cast<void>(t.atomic_add(sums, target % 1024, value));
      t.store(x, i, target);
    });
  }
  return trace;
}

// Returns the bytes per second read of a memory, over the whole run.
inline double bytes_per_second(const RunCounts& run, const machine::Gpu& gpu, std::uint32_t memory) {
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < run.channels.size(); ++i)
    if (run.memory_of_channel[i] == memory) bytes += run.channels[i].fill_bytes;
  return static_cast<double>(bytes) * gpu.hertz / static_cast<double>(run.cycles);
}

}  // namespace terrace::gpu_sim
