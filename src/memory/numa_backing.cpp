#include "memory/numa_backing.hpp"

#include <algorithm>

#include "memory/numa_node.hpp"

namespace terrace::memory {

NumaBacking::NumaBacking(const machine::Machine& machine, const ChunkTable& chunks)
    : machine_(machine), chunks_(chunks) {}

bool NumaBacking::settle(ChunkId first, std::uint32_t count, machine::PlaceId place) {
  const auto node = machine_.place(place).numa_node;
  const auto low = chunks_[first].address;
  const auto& last = chunks_[first + count - 1];
  return prefer_node(low, last.address + last.size - low, node) == 0;
}

machine::PlaceId NumaBacking::where(ChunkId id) {
  const auto& chunk = chunks_[id];
  nodes_.assign((chunk.size + k_page - 1) / k_page, -1);
  if (query_pages(chunk.address, nodes_) != 0) return machine::k_no_place;
  std::size_t most = 0;
  auto answer = machine::k_no_place;
  for (machine::PlaceId place = 0; place < machine_.places().size(); ++place) {
    const auto pages = static_cast<std::size_t>(std::count(nodes_.begin(), nodes_.end(), machine_.place(place).numa_node));
    if (pages > most) {
      most = pages;
      answer = place;
    }
  }
  return answer;
}

}  // namespace terrace::memory
