// SPDX-License-Identifier: Apache-2.0
// Interface between the runtime and the memory of places: a provider binds untouched chunks to places. A run may
// use several, each for the places that it supports. Each is one file in providers/; the build generates the table
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
  // Binds the chunks [first, first + count), which are contiguous and not yet touched, to `place`. Returns false
  // if the system refuses; the system then decides where they reside.
  virtual bool bind(ChunkId first, std::uint32_t count, PlaceId place) = 0;
  // Returns the place on which, by the system's report, most pages of the chunk reside; k_no_place while
  // untouched.
  [[nodiscard]] virtual PlaceId where(ChunkId chunk) = 0;
};

class ProviderVariant {
 public:
  virtual ~ProviderVariant() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;
  [[nodiscard]] virtual bool serves(const machine::Place& place) const = 0;
  // Makes a provider for the places that it serves. Machine and table must outlive it.
  [[nodiscard]] virtual std::unique_ptr<Provider> make(const machine::Machine& machine,
                                                       const ChunkTable& chunks) const = 0;
};
const std::vector<const ProviderVariant*>& providers();

// Delegates each place to the first variant that serves it.
class ProvidersByPlace final : public Provider {
 public:
  ProvidersByPlace(const machine::Machine& machine, const ChunkTable& chunks);
  // Returns false for a place that no variant serves.
  bool bind(ChunkId first, std::uint32_t count, PlaceId place) override;
  [[nodiscard]] PlaceId where(ChunkId chunk) override;

 private:
  std::vector<std::unique_ptr<Provider>> made_;
  std::vector<Provider*> of_;  // by place, null for none
};

}  // namespace terrace::memory
