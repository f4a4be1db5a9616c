// SPDX-License-Identifier: Apache-2.0
// Executor `gpu`: datasets are in host memory and stream through GPU memory step by step. Kernels run on a
// stream of their own, while copies fetch the data of the next steps and write back those of finished ones.
// The engine creates it for TERRACE_STENCIL=executor=gpu.
#include <algorithm>
#include <array>
#include <memory>
#include <optional>

#include "core/error.hpp"
#include "core/units.hpp"
#include "stencil/cuda/chain_launch_data.hpp"
#include "stencil/cuda/device_backend.hpp"
#include "stencil/execute/active_loop.hpp"
#include "stencil/plan/chain_use.hpp"
#include "stencil/stream/streamed_data.hpp"

namespace terrace::stencil {
namespace {

using cuda::Device;

constexpr std::size_t k_min_chunks = 64;

class Gpu final : public StreamedData {
 public:
  Gpu(const Options& options, std::shared_ptr<const Device> device, std::size_t chunk, Statistics& statistics)
      : StreamedData(std::make_unique<cuda::DeviceBackend>(device, options.memory, chunk), options.memory,
                     statistics),
        device_(std::move(device)),
        given_(options.tile),
        kernels_(*device_),
        ended_{{cuda::Event(*device_), cuda::Event(*device_)}},
        numbers_(*device_) {}
  ~Gpu() override { device_->driver().set_context(device_->context()); }

  void run(std::span<const Loop> chain, Reductions& reductions) override {
    device_->enter();
    for (const auto& loop : chain)
      if (!loop.device && !loop.range.empty())
        throw Error(Code::unsupported, "loop '" + loop.name +
                                           "' has no kernel for a GPU: mark it with TERRACE_STENCIL_KERNEL and "
                                           "compile the program with nvcc --extended-lambda");
    const auto [plan, ahead] = book_.next(chain);
    std::vector<ActiveLoop> all;
    for (const auto& loop : chain) all.push_back(terrace::stencil::begin(loop, views(loop), reductions));
    begin(*plan, ahead, outer_dimension(chain));
    try {
      numbers_.upload(all, kernels_);
      run_steps(*plan, outer_dimension(chain), all);
      numbers_.download(kernels_);
      kernels_.wait("results cannot be copied from the GPU");
    } catch (...) {
      // Wait: no kernel may use memory that is remapped or copied afterwards.
      device_->driver().synchronize_stream(kernels_.handle());
      throw;
    }
    numbers_.collect(all);
    statistics().tiles += plan->tiles->count();
    for (const auto& running : all) reductions.combine(*running.loop, running.partials);
  }

 private:
  // Kernels of a step are enqueued while those of the previous step run, if its data are resident by then. A
  // step ends once its kernels have, so that its data may be evicted.
  void run_steps(const ChainPlan& plan, std::size_t outer, std::span<const ActiveLoop> all) {
    std::optional<std::size_t> running;
    const auto end_running = [&] {
      if (!running) return;
      if (const auto result = ended_[*running % 2].wait(); result != cuda::k_success)
        throw Error(Code::failed,
                    "the GPU failed in a chain of " + std::to_string(all.size()) + " loops, from '" +
                        all.front().loop->name + "' to '" + all.back().loop->name +
                        "': " + device_->driver().text_of(result) +
                        ": to find wrong accesses, compile for the processor with -DTERRACE_STENCIL_CHECKS");
      stream().end_step(*running);
      running.reset();
    };
    for (std::size_t s = 0; s < plan.stream->steps.size(); ++s) {
      if (!stream().is_ready(s)) end_running();
      (void)stream().wait_for(s);
      std::array<std::size_t, k_max_dims> tile{0, 0, 0};
      tile[outer] = plan.stream->steps[s].first_tile;
      for (std::size_t l = 0; l < all.size(); ++l) {
        const auto part = plan.tiles->part(l, tile);
        if (part.empty()) continue;
        all[l].loop->device(
            {*all[l].loop, part, all[l].views.data(), numbers_.partials(l), numbers_.lines(l), kernels_.handle()});
      }
      ended_[s % 2].record(kernels_);
      end_running();
      running = s;
    }
    end_running();
  }

  ChainPlan plan(std::span<const Loop> chain, bool is_reversed) {
    const auto given = given_[outer_dimension(chain)];
    return require_fit(chain, plan_whole_steps(chain, capacity(), given, is_reversed));
  }

  std::shared_ptr<const Device> device_;
  std::array<std::ptrdiff_t, k_max_dims> given_;
  cuda::CommandStream kernels_;
  std::array<cuda::Event, 2> ended_;  // steps, alternating
  cuda::ChainLaunchData numbers_;
  ChainPlanCache book_{[this](std::span<const Loop> chain, bool is_reversed) { return plan(chain, is_reversed); },
                       true};
};

class GpuVariant final : public ExecutorVariant {
 public:
  [[nodiscard]] std::string_view name() const override { return "gpu"; }
  [[nodiscard]] std::vector<std::string_view> words() const override { return {"tile", "memory"}; }
  [[nodiscard]] std::unique_ptr<Executor> make(const Options& options, Statistics& statistics) const override {
    auto device = std::make_shared<const Device>();
    const auto smallest = device->granularity();
    if (options.memory < k_min_chunks * smallest)
      throw Error(Code::invalid,
                  "executor=gpu needs memory=SIZE, the GPU memory for datasets: set it to at least " +
                      format(Bytes{k_min_chunks * smallest}));
    const auto chunk = chunk_size(options.memory, std::max(k_gpu_chunks.largest, smallest), smallest);
    return std::make_unique<Gpu>(options, std::move(device), chunk, statistics);
  }
};

}  // namespace

const ExecutorVariant& gpu_executor() {
  static const GpuVariant variant;
  return variant;
}

}  // namespace terrace::stencil
