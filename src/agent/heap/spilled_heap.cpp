// See spilled_heap.hpp.
#include "agent/heap/spilled_heap.hpp"

#include <cstring>
#include <utility>

namespace terrace::agent {

namespace {

constexpr Bytes k_chunk{transfer::Spill::k_chunk};

transfer::Spill::Parts in(const memory::RegionSpace& space, transfer::Spill::Parts parts) {
  parts.base = space.base();
  parts.size = space.reserved().value;
  return parts;
}

}  // namespace

SpilledHeap::SpilledHeap(Bytes reserve, transfer::Spill::Parts parts)
    : space_(reserve, k_chunk), spill_(in(space_, std::move(parts))) {}

void* SpilledHeap::allocate(std::size_t size, std::size_t alignment) noexcept {
  void* const block = space_.allocate(size, alignment);
  if (block) spill_.reserve(reinterpret_cast<std::uint64_t>(block), space_.find(block).size);
  return block;
}

void SpilledHeap::clear(void* address, std::size_t size) noexcept { std::memset(address, 0, size); }

void SpilledHeap::before_fork() noexcept {
  space_.lock();
  spill_.before_fork();
}

void SpilledHeap::after_fork() noexcept {
  spill_.after_fork();
  space_.unlock();
}

void SpilledHeap::in_child() noexcept {
  spill_.in_child();
  space_.unlock();
}

bool SpilledHeap::release(void* block) noexcept {
  const auto found = space_.find(block);
  if (found.size == 0 || found.address != reinterpret_cast<std::uint64_t>(block)) return false;
  spill_.release(found.address, found.size);
  return space_.release(block) > 0;
}

}  // namespace terrace::agent
