// Memory for a measurement: on one NUMA node, in huge or in small pages, present, and its true whereabouts.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "core/units.hpp"

namespace terrace::machine {

enum class Pages { huge, small };

class PlacedBuffer {
 public:
  // Maps, asks for the node (-1: wherever the system puts it) and touches every page. The node is asked for as
  // preferred, never as binding: on a full node binding memory calls the kernel's out-of-memory killer. Throws
  // Error{no_memory} or, when the system refuses the policy, Error{unsupported}.
  PlacedBuffer(Bytes size, Pages pages, int numa_node);
  ~PlacedBuffer();
  PlacedBuffer(const PlacedBuffer&) = delete;
  PlacedBuffer& operator=(const PlacedBuffer&) = delete;

  template <class T>
  [[nodiscard]] std::span<T> as() const {
    return {reinterpret_cast<T*>(begin_), size_ / sizeof(T)};
  }
  // The share of (sampled) pages that the kernel reports on the node; nothing where it does not tell.
  [[nodiscard]] std::optional<double> share_on(int numa_node) const;
  // The share that is in huge pages, by /proc/self/smaps; nothing where it cannot be read.
  [[nodiscard]] std::optional<double> share_huge() const;

 private:
  void* map_ = nullptr;
  std::size_t map_size_ = 0;
  std::byte* begin_ = nullptr;  // aligned to a huge page
  std::size_t size_ = 0;
};

// What can still be allocated on a node (-1: anywhere): its free memory, less what a control group does not allow.
Bytes available_memory(int numa_node);

}  // namespace terrace::machine
