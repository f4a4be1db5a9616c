// Memory as the runtime sees it: something that binds untouched chunks to places. Which provider serves a place is
// a matter of the place: several of them serve one run. Each is one file in providers/; the build makes the table
// of them (cmake/Variants.cmake).
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "machine/machine.hpp"
#include "memory/chunk_table.hpp"

namespace terrace::memory {

class Provider {
 public:
  virtual ~Provider() = default;
  // The chunks [first, first + count), contiguous in memory and not yet touched, shall reside on `place`. False
  // when the system refuses; they then reside where the system puts them.
  virtual bool bind(ChunkId first, std::uint32_t count, PlaceId place) = 0;
  // Where the chunk resides by the system's own account (most of its pages), k_no_place while it is untouched.
  [[nodiscard]] virtual PlaceId where(ChunkId chunk) = 0;
};

class ProviderVariant {
 public:
  virtual ~ProviderVariant() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;
  [[nodiscard]] virtual bool serves(const machine::Place& place) const = 0;
  // For the places that it serves. Machine and table outlive it.
  [[nodiscard]] virtual std::unique_ptr<Provider> make(const machine::Machine& machine,
                                                       const ChunkTable& chunks) const = 0;
};
const std::vector<const ProviderVariant*>& providers();

// Each place by the first variant that serves it.
class ProvidersByPlace final : public Provider {
 public:
  ProvidersByPlace(const machine::Machine& machine, const ChunkTable& chunks);
  // False for a place that nobody serves.
  bool bind(ChunkId first, std::uint32_t count, PlaceId place) override;
  [[nodiscard]] PlaceId where(ChunkId chunk) override;

 private:
  std::vector<std::unique_ptr<Provider>> made_;
  std::vector<Provider*> of_;  // by place, null for none
};

}  // namespace terrace::memory
