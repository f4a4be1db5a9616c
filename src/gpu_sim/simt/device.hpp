// A GPU on which kernels run for their results and their accesses, not for time: CTA by CTA, in the order of their
// numbers, warp by warp within one, lane by lane between two barriers. What they do goes to a sink.
//
// Arrays are at addresses of a space of the device's own, from 4 GiB on, each on a multiple of 64 KiB: so they are
// the same in every run, and pages of up to 64 KiB belong to one allocation.
#pragma once

#include <concepts>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "gpu_sim/simt/thread.hpp"
#include "gpu_sim/simt/warp_merge.hpp"
#include "gpu_sim/trace/warp_trace.hpp"

namespace terrace::gpu_sim {

struct LaunchShape {
  std::string name;
  std::int32_t ctas = 1;
  std::int32_t threads = 256;      // of a CTA
  std::uint32_t registers = 20;    // of a thread: how many CTAs an SM has room for depends on it
  std::uint32_t shared_bytes = 0;  // of a CTA, all of its Shared together
};

// Shared memory, one array for each kernel: CTAs run one after the other, and none may rely on what is in it.
template <Plain T>
class Shared {
 public:
  explicit Shared(std::size_t size) : elements_(size) {}
  [[nodiscard]] std::span<T> span() { return elements_; }
  [[nodiscard]] std::uint32_t bytes() const { return static_cast<std::uint32_t>(elements_.size() * sizeof(T)); }

 private:
  std::vector<T> elements_;
};

class Device {
 public:
  // The sink outlives it.
  explicit Device(TraceSink& sink) : sink_(sink), lanes_(k_max_threads) {}

  // Zeros, as long as the device is there.
  template <Plain T>
  Array<T> array(const std::string& name, std::size_t size) {
    const auto address = allocate(name, size * sizeof(T));
    auto memory = std::make_shared<std::vector<T>>(size);
    memories_.push_back(memory);
    return {std::span<T>(*memory), address};
  }

  // Runs a kernel: `body` is called with each Thread. Throws Error{invalid} for a shape that no GPU runs, for an
  // element that an array does not have, and where threads of a CTA end while others wait at a barrier.
  template <std::invocable<Thread&> Body>
  void launch(const LaunchShape& shape, Body body) {
    begin(shape);
    for (std::int32_t cta = 0; cta < shape.ctas; ++cta) {
      if constexpr (std::same_as<std::invoke_result_t<Body, Thread&>, ThreadRun>)
        run_with_barriers(shape, cta, body);
      else
        run(shape, cta, body);
      sink_.add(cta_);
    }
  }

 private:
  std::uint64_t allocate(const std::string& name, std::uint64_t bytes);
  void begin(const LaunchShape& shape);
  void run(const LaunchShape& shape, std::int32_t cta, const std::function<void(Thread&)>& body);
  void run_with_barriers(const LaunchShape& shape, std::int32_t cta,
                         const std::function<ThreadRun(Thread&)>& body);

  TraceSink& sink_;
  std::vector<LaneLog> lanes_;
  std::vector<WarpMerge> merges_;
  Cta cta_;
  std::deque<std::shared_ptr<void>> memories_;
  std::uint64_t next_address_ = std::uint64_t{4} << 30;
};

}  // namespace terrace::gpu_sim
