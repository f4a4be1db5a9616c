// Common code of the tests of real memory: machines whose places are NUMA nodes, mappings, and queries of the
// kernel for the nodes of pages, independent of Terrace.
#pragma once

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/rounding.hpp"
#include "machine/machine.hpp"
#include "memory/chunk_table.hpp"

namespace terrace::tests {

// A machine of one domain whose places p0, p1, ... are these nodes, the first the fastest, the last the home.
inline machine::Machine machine_on(const std::vector<int>& nodes) {
  machine::MachineParts parts;
  parts.name = "test";
  parts.nodes = {{"machine", {}, {}}};
  machine::Initiator core;
  core.name = "core";
  core.frequency_hz = 1e9;
  core.instruction_time = {1e-9};
  core.caches = {{"l2", {1u << 20}, 8, false, {5e-9}}};
  parts.initiators = {core};
  machine::Domain domain{"all", 0, {}};
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto place = static_cast<PlaceId>(i);
    const auto name = "p" + std::to_string(i);
    parts.nodes.push_back({name, 0, place});
    parts.places.push_back({name, "kind" + std::to_string(i), {(i + 1) << 30}, {k_page}, 0, nodes[i]});
    parts.paths.push_back({0, place, {16e9 / (1.0 + static_cast<double>(i))}, {16e9}, {100e-9}});
    domain.places.push_back(place);
  }
  parts.domains = {domain};
  return machine::Machine(parts);
}

// Private anonymous memory of whole pages, untouched; `align` of at most 2 MiB.
class Mapping {
 public:
  explicit Mapping(std::size_t size, std::size_t align = k_page) : mapped_(size + align) {
    map_ = ::mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map_ == MAP_FAILED) throw std::runtime_error("no memory for the test");
    address_ = (reinterpret_cast<std::uint64_t>(map_) + align - 1) / align * align;
  }
  ~Mapping() { ::munmap(map_, mapped_); }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  [[nodiscard]] std::uint64_t address(std::size_t page = 0) const { return address_ + page * k_page; }
  [[nodiscard]] unsigned char* page(std::size_t number) const {
    return reinterpret_cast<unsigned char*>(address(number));
  }
  // Writes one byte into each page of [first, first + count).
  void touch(std::size_t first, std::size_t count) const {
    for (auto number = first; number < first + count; ++number)
      *page(number) = static_cast<unsigned char>(number + 1);
  }

 private:
  std::size_t mapped_;
  void* map_;
  std::uint64_t address_ = 0;
};

// The kernel's answer for each page: its node, or a negative errno value.
inline std::vector<int> kernel_nodes(std::uint64_t address, std::size_t pages) {
  std::vector<void*> list(pages);
  for (std::size_t i = 0; i < pages; ++i) list[i] = reinterpret_cast<void*>(address + i * k_page);
  std::vector<int> status(pages, -1000);
  if (::syscall(SYS_move_pages, 0, pages, list.data(), nullptr, status.data(), 0) != 0)
    throw std::runtime_error(std::string("move_pages: ") + std::strerror(errno));
  return status;
}

}  // namespace terrace::tests
