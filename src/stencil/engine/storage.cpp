// See storage.hpp.
#include "stencil/engine/storage.hpp"

#include <sys/mman.h>

#include <utility>

#include "core/error.hpp"

namespace terrace::stencil {
namespace {

constexpr std::size_t k_line = 64;
constexpr std::size_t k_huge = std::size_t{2} << 20U;
constexpr std::size_t k_offsets = 16;  // different beginnings, one after the other

}  // namespace

Memory::Memory(const std::string& name, std::size_t bytes, std::size_t number) {
  const auto shift = number % k_offsets * (k_huge / k_offsets / 4 + 3 * k_line);
  size_ = bytes + shift + k_huge;
  mapping_ = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping_ == MAP_FAILED)
    throw Error(Code::no_memory, "no memory for the dataset '" + name + "', " + std::to_string(bytes) +
                                     " bytes: take a smaller problem, or executor=streamed with data in files");
  madvise(mapping_, size_, MADV_HUGEPAGE);
  const auto address = reinterpret_cast<std::uintptr_t>(mapping_);
  const auto aligned = (address + k_huge - 1) / k_huge * k_huge;
  first_ = static_cast<std::byte*>(mapping_) + (aligned - address) + shift;
}

void Memory::release() {
  if (mapping_) munmap(mapping_, size_);
  mapping_ = nullptr;
}

Memory::Memory(Memory&& other) noexcept
    : mapping_(std::exchange(other.mapping_, nullptr)), size_(other.size_), first_(other.first_) {}

std::ptrdiff_t padded_row(std::ptrdiff_t length, std::size_t element) {
  const auto in_line = static_cast<std::ptrdiff_t>(k_line / element);
  const auto lines = (length + in_line - 1) / in_line;
  // An odd number of lines, so that rows below one another do not share the sets of a cache.
  return (lines | 1) * in_line;
}

}  // namespace terrace::stencil
