// Blocks, and the chunks that blocks and mappings have. See spilled_heap.hpp; the calls are in
// spilled_mappings.cpp.
#include "agent/heap/spilled_heap.hpp"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "core/rounding.hpp"
#include "memory/numa_node.hpp"

namespace terrace::agent {

namespace {

constexpr Bytes k_chunk{transfer::SpillEngine::k_chunk};
constexpr int k_usual = PROT_READ | PROT_WRITE;
// For blocks that were freed lately: at most such a part of the memory.
constexpr std::uint64_t k_kept_share = 16;
constexpr std::uint64_t k_scarce = 8;  // no more than such a part of the memory is free: none are kept

transfer::SpillEngine::Parts in(const memory::RegionSpace& space, transfer::SpillEngine::Parts parts) {
  parts.base = space.base();
  parts.size = space.reserved().value;
  return parts;
}

}  // namespace

SpilledHeap::SpilledHeap(Bytes reserve, transfer::SpillEngine::Parts parts,
                         void (*no_room)(std::size_t size, std::size_t alignment))
    : space_(reserve, k_chunk),
      counts_(parts.counts),
      max_kept_(std::min(parts.memory.value / k_kept_share, KeptBlocks::k_max_bytes)),
      spill_(transfer::make_spill(in(space_, std::move(parts)))),
      no_room_(no_room),
      process_(getpid()) {}

bool SpilledHeap::is_here() const noexcept { return getpid() == process_; }

bool SpilledHeap::meets(const void* address, std::size_t size) const noexcept {
  const auto start = reinterpret_cast<std::uint64_t>(address);
  return !clip(start, start + size).is_empty();
}

void SpilledHeap::lock() const {
  mutex_.lock();
  space_.lock();
}

void SpilledHeap::unlock() const {
  space_.unlock();
  mutex_.unlock();
}

// What of a range of addresses is in the space.
SpilledHeap::Span SpilledHeap::clip(std::uint64_t start, std::uint64_t end) const noexcept {
  const auto base = space_.base();
  return {std::max(start, base), std::min(page_up(end), base + space_.reserved().value)};
}

void* SpilledHeap::obtain(std::size_t size, std::size_t alignment, Kind kind, std::size_t length,
                          bool tells) noexcept {
  void* const block = space_.allocate(size, alignment);
  if (!block) {
    if (no_room_ && tells) no_room_(size, alignment);
    return nullptr;
  }
  const auto start = reinterpret_cast<std::uint64_t>(block);
  spill_->reserve(start, space_.find(block).size);
  try {
    const std::lock_guard guard(mutex_);
    if (!open({start, start + space_.find(block).size})) throw std::bad_alloc();
    ranges_.set({start, start + length, kind, k_usual});
  } catch (const std::bad_alloc&) {
    const std::lock_guard guard(mutex_);
    give_back({start, start + space_.find(block).size});
    return nullptr;
  }
  return block;
}

bool SpilledHeap::is_short() const noexcept {
  const auto limit = counts_->limit.load(std::memory_order_relaxed);
  return counts_->content.load(std::memory_order_relaxed) > limit - limit / k_scarce;
}

// As it was handed out, but for its content. Throws std::bad_alloc.
bool SpilledHeap::may_keep(const memory::RegionSpace::Block& block) const {
  if (block.size > max_kept_ || is_short() || locks_.load(std::memory_order_relaxed)) return false;
  const auto parts = ranges_.within(block.address, block.address + block.size);
  return std::ranges::all_of(
      parts, [](const auto& part) { return part.kind == Kind::block && part.protection == k_usual; });
}

void* SpilledHeap::take_kept(std::size_t size, std::size_t alignment) noexcept {
  const std::lock_guard guard(mutex_);
  if (is_short())
    for (auto block = kept_.take_oldest(); block.size > 0; block = kept_.take_oldest())
      release_now(block.address, block.size);
  const auto block = kept_.take(size, alignment);
  return reinterpret_cast<void*>(block.address);  // NOLINT(performance-no-int-to-ptr)
}

void* SpilledHeap::allocate(std::size_t size, std::size_t alignment, bool zeros) noexcept {
  if (size > space_.reserved().value) return nullptr;
  const auto length = align_up(std::max<std::size_t>(size, 1), k_granule);
  void* const kept = take_kept(length, alignment);
  if (!kept) return obtain(size, alignment, Kind::block, length);
  if (zeros) std::memset(kept, 0, size);
  return kept;
}

void SpilledHeap::prefer(const void* block, transfer::Preference preference) noexcept {
  const auto found = space_.find(block);
  if (found.size > 0) spill_->prefer(found.address, found.size, preference);
}

void SpilledHeap::before_fork(std::span<const std::uint64_t> at_once) noexcept {
  lock();
  spill_->before_fork(at_once);
}

void SpilledHeap::after_fork() noexcept {
  spill_->after_fork();
  if (protects_) apply_all_rights();
  unlock();
}

void SpilledHeap::in_child() noexcept {
  is_copy_ = true;
  spill_->in_child();
  apply_all_rights();
  unlock();
}

void SpilledHeap::apply_all_rights() noexcept {
  const auto base = space_.base();
  try {
    apply_rights({base, base + space_.reserved().value});
  } catch (const std::bad_alloc&) {  // then all of it may be read and written
  }
}

memory::RegionSpace::Block SpilledHeap::block_at(const void* address) const noexcept {
  const auto start = reinterpret_cast<std::uint64_t>(address);
  const auto found = space_.find(address);
  if (found.size == 0 || found.address != start || kept_.has(start)) return {};
  const auto kind = ranges_.kind_at(start);
  return kind == Kind::block || kind == Kind::other_in_block ? found : memory::RegionSpace::Block{};
}

std::size_t SpilledHeap::size_of(const void* block) const noexcept {
  if (!space_.contains(block)) return 0;
  const std::lock_guard guard(mutex_);
  return block_at(block).size;
}

bool SpilledHeap::is_no_block(const void* address) const noexcept {
  if (!space_.contains(address) || is_copy_) return false;
  const auto start = reinterpret_cast<std::uint64_t>(address);
  const std::lock_guard guard(mutex_);
  if (block_at(address).size > 0 || left_.contains(align_down(start, k_granule))) return false;
  const auto kind = ranges_.kind_at(start);
  return !kind || *kind == Kind::block;
}

bool SpilledHeap::grow(void* block, std::size_t size) noexcept {
  const std::lock_guard guard(mutex_);
  const auto found = block_at(block);
  const auto length = align_up(size, k_granule);
  if (found.size == 0 || length < size || length <= found.size || !space_.resize(block, length)) return false;
  try {
    if (!open({found.address + found.size, found.address + length})) throw std::bad_alloc();
    ranges_.set({found.address + found.size, found.address + length, Kind::block, k_usual});
  } catch (const std::bad_alloc&) {
    space_.resize(block, found.size);
    return false;
  }
  spill_->reserve(found.address + found.size, length - found.size);
  return true;
}

bool SpilledHeap::shrink(void* block, std::size_t size) noexcept {
  const std::lock_guard guard(mutex_);
  const auto found = block_at(block);
  const auto length = align_up(size, k_granule);
  if (size < k_min || length >= found.size) return false;
  const auto end = found.address + found.size;
  try {
    ranges_.remove(found.address + length, end);
  } catch (const std::bad_alloc&) {
    return false;
  }
  give_back({found.address + length, end});
  return true;
}

bool SpilledHeap::release(void* block) noexcept {
  const std::lock_guard guard(mutex_);
  const auto found = block_at(block);
  if (found.size == 0) return false;
  try {
    if (may_keep(found)) {
      while (kept_.full() || kept_.bytes() + found.size > max_kept_) {
        const auto oldest = kept_.take_oldest();
        release_now(oldest.address, oldest.size);
      }
      kept_.keep({found.address, found.size});
      return true;
    }
  } catch (const std::bad_alloc&) {  // then it is not kept
  }
  release_now(found.address, found.size);
  return true;
}

void SpilledHeap::release_now(std::uint64_t address, std::uint64_t size) noexcept {
  try {
    ranges_.remove(address, address + size);
  } catch (const std::bad_alloc&) {
    return;  // it is not used any more, and not handed out again
  }
  give_back({address, address + size});
}

// Nobody may touch free chunks: a program that goes on using what it has unmapped or freed is to find out.
void SpilledHeap::close(Span chunks) noexcept {
  int rights = PROT_NONE;
  try {
    closed_.set({chunks.start, chunks.end, Kind::other, rights});
  } catch (const std::bad_alloc&) {
    rights = k_usual;  // nobody would know
  }
  syscall(SYS_mprotect, chunks.start, chunks.end - chunks.start, rights);
}

// They are to be used again. False where the system has no memory for it.
bool SpilledHeap::open(Span chunks) noexcept {
  if (!closed_.any(chunks.start, chunks.end)) return true;
  if (syscall(SYS_mprotect, chunks.start, chunks.end - chunks.start, k_usual) != 0) return false;
  try {
    closed_.remove(chunks.start, chunks.end);
  } catch (const std::bad_alloc&) {  // they are opened once more, later
  }
  return true;
}

// Chunks of which the program has nothing any more, as they were in the beginning.
void SpilledHeap::give_back(Span chunks) noexcept {
  const auto size = chunks.end - chunks.start;
  spill_->release(chunks.start, size);
  if (locks_.load(std::memory_order_relaxed)) syscall(SYS_munlock, chunks.start, size);
  close(chunks);
  left_.erase(left_.lower_bound(chunks.start), left_.lower_bound(chunks.end));
  space_.release_part(chunks.start, size);
}

// Runs of the range's chunks for which `is_one` holds.
template <class Is, class Body>
bool for_runs(std::uint64_t start, std::uint64_t end, Is&& is_one, Body&& body) {
  start = align_down(start, SpilledHeap::k_granule);
  end = align_up(end, SpilledHeap::k_granule);
  auto first = start;
  for (auto chunk = start; chunk < end; chunk += SpilledHeap::k_granule) {
    if (is_one(chunk)) continue;
    if (first < chunk && !body(first, chunk)) return false;
    first = chunk + SpilledHeap::k_granule;
  }
  return first >= end || body(first, end);
}

bool SpilledHeap::is_taken(std::uint64_t chunk) const noexcept {
  return space_.find(reinterpret_cast<const void*>(chunk)).size > 0;  // NOLINT(performance-no-int-to-ptr)
}

// Those of the range's chunks that hold nothing any more.
void SpilledHeap::give_dead_back(Span span) noexcept {
  for_runs(
      span.start, span.end,
      [&](std::uint64_t chunk) { return !ranges_.any(chunk, chunk + k_granule) && is_taken(chunk); },
      [&](std::uint64_t first, std::uint64_t end) {
        give_back({first, end});
        return true;
      });
}

// Those of the range's chunks to all of which the program has the usual rights.
void SpilledHeap::tell_usual(Span span) {
  auto start = align_down(span.start, k_granule);
  const auto end = align_up(span.end, k_granule);
  const auto tell = [&](std::uint64_t until) {
    if (start < until) spill_->change_rights(start, until - start, true);
  };
  for (const auto& part : ranges_.within(start, end)) {
    if (part.is_ours() && part.protection == k_usual) continue;
    tell(align_down(part.start, k_granule));
    start = std::max(start, align_up(part.end, k_granule));
  }
  tell(end);
}

// Chunks become the program's. False where somebody has one of them, or the system has no memory for it.
bool SpilledHeap::claim(std::uint64_t start, std::uint64_t size) noexcept {
  if (!space_.allocate_at(start, size)) return false;
  if (open({start, start + size})) {
    spill_->reserve(start, size);
    return true;
  }
  space_.release_part(start, size);
  return false;
}

// The range's chunks that nobody has are taken. False where that cannot be.
bool SpilledHeap::claim_free(Span span) noexcept {
  return for_runs(
      span.start, span.end, [&](std::uint64_t chunk) { return !is_taken(chunk); },
      [&](std::uint64_t first, std::uint64_t end) { return claim(first, end - first); });
}

void SpilledHeap::hold(const void* address, std::size_t size) noexcept {
  const auto start = reinterpret_cast<std::uint64_t>(address);
  const auto span = clip(align_down(start, k_page), page_up(start + size));
  if (span.is_empty()) return;
  try {
    const std::lock_guard guard(mutex_);
    if (MappedRanges::is_covered(ranges_.within(span.start, span.end), span.start, span.end)) leave_as_is(span);
  } catch (const std::bad_alloc&) {  // then the device's driver is refused
  }
  memory::populate(span.start, span.end - span.start);  // what was never touched has no page yet
}

}  // namespace terrace::agent
