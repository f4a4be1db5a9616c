// SPDX-License-Identifier: Apache-2.0
// Executor `streamed`: datasets are in a file and stream through memory step by step; steps run in cache-sized
// tiles. For problems larger than the memory that they may use; the engine creates it for executor=streamed.
#include <memory>

#include "core/error.hpp"
#include "core/units.hpp"
#include "stencil/execute/executor.hpp"
#include "stencil/stream/file_backend.hpp"
#include "stencil/stream/streamed_data.hpp"

namespace terrace::stencil {
namespace {

constexpr std::size_t k_min_chunks = 64;

class StreamedVariant final : public ExecutorVariant {
 public:
  [[nodiscard]] std::string_view name() const override { return "streamed"; }
  [[nodiscard]] std::vector<std::string_view> words() const override {
    return {"threads", "tile", "memory", "folder"};
  }
  [[nodiscard]] std::unique_ptr<Executor> make(const Options& options, Statistics& statistics) const override {
    constexpr auto least = k_min_chunks * k_processor_chunks.smallest;
    if (options.memory < least)
      throw Error(Code::invalid,
                  "executor=streamed needs memory=SIZE, the memory for datasets: set it to at least " +
                      format(Bytes{least}));
    const auto chunk = chunk_size(options.memory, k_processor_chunks.largest, k_processor_chunks.smallest);
    return make_streamed(options, std::make_unique<FileBackend>(options.folder, options.memory, chunk),
                         statistics);
  }
};

}  // namespace

const ExecutorVariant& streamed_executor() {
  static const StreamedVariant variant;
  return variant;
}

}  // namespace terrace::stencil
