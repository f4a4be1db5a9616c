// SPDX-License-Identifier: Apache-2.0
// All datasets in the fast memory, as long as they fit.
#include "core/error.hpp"
#include "stencil/virtual/mode.hpp"

namespace terrace::stencil {
namespace {

class FlatFast final : public Mode {
 public:
  explicit FlatFast(const Pair& pair) : pair_(pair) {}
  void add(const DatasetAbout& about) override {
    bytes_ += static_cast<double>(about.bytes());
    if (bytes_ > pair_.fast_bytes)
      throw Error(Code::invalid, "the datasets do not fit into " + pair_.fast_name + ", which has room for " +
                                     format(Bytes{static_cast<std::uint64_t>(pair_.fast_bytes)}));
  }
  void run(std::span<const Loop> chain) override {
    for (const auto& loop : chain) {
      const auto bytes = bytes_of(loop);
      counts_.accesses += bytes;
      counts_.hits += bytes;
      counts_.loop_seconds += pair_.loop_seconds(bytes);
    }
    counts_.seconds = counts_.loop_seconds;
  }

 private:
  Pair pair_;
  double bytes_ = 0;
};

class FlatFastVariant final : public ModeVariant {
 public:
  [[nodiscard]] std::string_view name() const override { return "flat-fast"; }
  [[nodiscard]] std::vector<std::string_view> words() const override { return {"memory"}; }
  [[nodiscard]] std::unique_ptr<Mode> make(const Pair& pair, const ModeOptions& /*options*/) const override {
    return std::make_unique<FlatFast>(pair);
  }
};

}  // namespace

const ModeVariant& flat_fast_mode() {
  static const FlatFastVariant variant;
  return variant;
}

}  // namespace terrace::stencil
