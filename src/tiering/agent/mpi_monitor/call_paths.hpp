// SPDX-License-Identifier: Apache-2.0
// Numbers the call paths of MPI calls: the return addresses from the call outwards to main(). The MPI monitor
// identifies calls by them (mpi_monitor.hpp).
//
// Unwinding a stack costs some microseconds. A path is recognised again by its return addresses where they were on
// the stack before: a call from the same site with the same stack pointer usually has the same frames. Not
// thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "agent/mpi/call_events.hpp"
#include "runtime/mpi/mpi_calls.hpp"

namespace terrace::agent {

class CallPaths {
 public:
  static constexpr std::size_t k_max_depth = 64;
  static constexpr std::size_t k_max_paths = 4096;

  // Returns the number of the call's path, from 0; nothing where there are too many. Requires: inside of the call.
  std::optional<runtime::CallPath> find(const MpiCall& call);
  // Returns the path's return addresses, innermost first: the first one is the call site of the MPI call.
  [[nodiscard]] std::span<const std::uint64_t> addresses(runtime::CallPath path) const {
    return paths_[path].addresses;
  }
  // Returns the MPI function of the path, an index for terrace_mpi_function_name().
  [[nodiscard]] std::uint16_t function(runtime::CallPath path) const { return paths_[path].function; }
  [[nodiscard]] std::size_t size() const { return paths_.size(); }

 private:
  struct Path {
    std::uint16_t function = 0;
    std::vector<std::uint64_t> addresses;
  };
  // Where the return addresses of a path's outer frames were, when the call had this stack pointer.
  struct Variant {
    runtime::CallPath path = 0;
    std::vector<const std::uint64_t*> slots;
  };
  struct Site {
    const void* call_site;
    const std::uint64_t* frame;
    std::uint16_t function;
    bool operator==(const Site&) const = default;
  };
  struct HashOfSite {
    std::size_t operator()(const Site& site) const noexcept;
  };

  std::vector<Variant>& variants_at(const Site& site);
  std::optional<runtime::CallPath> unwind(const MpiCall& call, std::vector<Variant>& variants);

  std::vector<Path> paths_;
  std::map<std::pair<std::uint16_t, std::vector<std::uint64_t>>, runtime::CallPath> numbers_;
  std::unordered_map<Site, std::vector<Variant>, HashOfSite> sites_;
  struct Recent {
    Site site{};
    std::vector<Variant>* variants = nullptr;  // in sites_, which keeps its values where they are
  };
  std::array<Recent, 128> recent_;  // direct-mapped by hash
};

}  // namespace terrace::agent
