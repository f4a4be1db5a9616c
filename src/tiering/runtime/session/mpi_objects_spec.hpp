// SPDX-License-Identifier: Apache-2.0
// Defines the part of a session that concerns the memory of MPI libraries: the tables by which a process
// recognises its objects (strategy/mpi_objects/mpi_objects.hpp), and the places that `--mpi-objects` gives to
// their kinds.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/blob.hpp"
#include "core/identifiers.hpp"
#include "strategy/mpi_objects/mpi_objects.hpp"

namespace terrace::runtime {

struct MpiObjectsSpec {
  // A place that memory can be bound to.
  struct Place {
    std::string name;  // "hbm0"
    std::string kind;  // "hbm"
    PlaceId id = 0;
    int node = 0;  // number of the NUMA node
  };

  std::vector<strategy::MpiObjectTable> tables;  // empty: the memory of MPI libraries is not observed
  std::vector<Place> places;                     // of the machine; those of the process's domain first
  // For each kind its place, an index in `places`; nothing: it stays where the library puts it.
  std::array<std::optional<std::uint32_t>, strategy::k_num_mpi_object_kinds> placed{};

  [[nodiscard]] bool is_observed() const { return !tables.empty(); }
  // Returns whether some kind has a place.
  [[nodiscard]] bool is_wanted() const;
  // Returns the index of a place by its name, else of the first place of that kind of memory.
  [[nodiscard]] std::optional<std::uint32_t> find_place(std::string_view name) const;

  void to_blob(BlobWriter& out) const;
  // Throws Error{corrupt}.
  static MpiObjectsSpec from_blob(BlobReader& in);
};

}  // namespace terrace::runtime
