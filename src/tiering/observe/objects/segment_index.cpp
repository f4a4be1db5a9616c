// SPDX-License-Identifier: Apache-2.0
// Implements the ordered index of segments of an address space, for the address map. See segment_index.hpp.
#include "observe/objects/segment_index.hpp"

#include <algorithm>
#include <atomic>

namespace terrace::observe {

namespace {

constexpr std::uint32_t k_block_segments = 128;
constexpr std::uint32_t k_first_directory = 64;

// Shared data is written with release and read with acquire order, so that a reader which sees a part of a change
// also sees the odd generation before it.
template <class T>
T load(const T& field) {
  return std::atomic_ref<T>(const_cast<T&>(field)).load(std::memory_order_acquire);
}
template <class T>
void store(T& field, T value) {
  std::atomic_ref<T>(field).store(value, std::memory_order_release);
}

void copy_in(Segment& to, const Segment& from) {
  store(to.low, from.low);
  store(to.high, from.high);
  store(to.delta, from.delta);
  store(to.origin, from.origin);
  store(to.chunk, from.chunk);
  store(to.reuse_delta, from.reuse_delta);
}

}  // namespace

struct SegmentIndex::Block {
  std::uint32_t count = 0;
  Segment segments[k_block_segments];
};

struct SegmentIndex::Directory {
  struct Entry {
    std::uint64_t low = 0;  // begin of the block's first segment
    Block* block = nullptr;
  };
  explicit Directory(std::uint32_t size) : capacity(size), entries(std::make_unique<Entry[]>(size)) {}
  std::uint32_t capacity;
  std::uint32_t count = 0;
  std::unique_ptr<Entry[]> entries;
};

SegmentIndex::SegmentIndex() {
  directories_.push_back(std::make_unique<Directory>(k_first_directory));
  directory_ = directories_.back().get();
}
SegmentIndex::~SegmentIndex() = default;

std::uint32_t SegmentIndex::block_of(const Directory& directory, std::uint32_t count, std::uint64_t address) {
  std::uint32_t low = 0;
  std::uint32_t high = count;
  while (high - low > 1) {
    const std::uint32_t middle = low + (high - low) / 2;
    if (load(directory.entries[middle].low) <= address) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return low;
}

bool SegmentIndex::find(std::uint64_t address, Segment& found) const {
  const Directory* directory = load(directory_);
  const std::uint32_t blocks = std::min(load(directory->count), directory->capacity);
  if (blocks == 0) return false;
  const Block* block = load(directory->entries[block_of(*directory, blocks, address)].block);
  if (block == nullptr) return false;
  std::uint32_t low = 0;
  const std::uint32_t count = std::min(load(block->count), k_block_segments);
  std::uint32_t high = count;
  while (low < high) {  // the first that ends above the address
    const std::uint32_t middle = low + (high - low) / 2;
    if (load(block->segments[middle].high) <= address) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  if (low == count) return false;
  const Segment& segment = block->segments[low];
  found = {load(segment.low),    load(segment.high),  load(segment.delta),
           load(segment.origin), load(segment.chunk), load(segment.reuse_delta)};
  return address >= found.low && address < found.high;
}

SegmentIndex::Position SegmentIndex::lower(std::uint64_t address) const {
  const Directory& directory = *directory_;
  if (directory.count == 0) return {};
  Position position{block_of(directory, directory.count, address), 0};
  const Block& block = *directory.entries[position.block].block;
  const auto* end = block.segments + block.count;
  const auto* at = std::partition_point(block.segments, end, [&](const Segment& s) { return s.high <= address; });
  position.entry = static_cast<std::uint32_t>(at - block.segments);
  if (at == end) position = {position.block + 1, 0};
  return position;
}

bool SegmentIndex::at_end(Position position) const { return position.block >= directory_->count; }

bool SegmentIndex::overlaps(std::uint64_t low, std::uint64_t high) const {
  const auto position = lower(low);
  return !at_end(position) && directory_->entries[position.block].block->segments[position.entry].low < high;
}

void SegmentIndex::insert(const Segment& segment) {
  ++size_;
  if (directory_->count == 0) {
    Block* block = fresh_block();
    copy_in(block->segments[0], segment);
    store(block->count, 1u);
    add_block(0, block);
    return;
  }
  std::uint32_t at = block_of(*directory_, directory_->count, segment.low);
  Block* block = directory_->entries[at].block;
  if (block->count == k_block_segments) {  // split in halves
    Block* upper = fresh_block();
    constexpr std::uint32_t k_half = k_block_segments / 2;
    for (std::uint32_t i = k_half; i < k_block_segments; ++i)
      copy_in(upper->segments[i - k_half], block->segments[i]);
    store(upper->count, k_block_segments - k_half);
    store(block->count, k_half);
    add_block(at + 1, upper);
    if (segment.low >= upper->segments[0].low) {
      block = upper;
      ++at;
    }
  }
  std::uint32_t entry = block->count;
  for (; entry > 0 && block->segments[entry - 1].low > segment.low; --entry) {
    copy_in(block->segments[entry], block->segments[entry - 1]);
  }
  copy_in(block->segments[entry], segment);
  store(block->count, block->count + 1);
  if (entry == 0) store(directory_->entries[at].low, segment.low);
}

void SegmentIndex::erase(Position position) {
  --size_;
  Block* block = directory_->entries[position.block].block;
  for (std::uint32_t i = position.entry + 1; i < block->count; ++i)
    copy_in(block->segments[i - 1], block->segments[i]);
  store(block->count, block->count - 1);
  if (block->count == 0) {
    drop_block(position.block);
  } else if (position.entry == 0) {
    store(directory_->entries[position.block].low, block->segments[0].low);
  }
}

std::vector<Segment> SegmentIndex::cut(std::uint64_t low, std::uint64_t high) {
  std::vector<Segment> pieces;
  if (low >= high) return pieces;
  for (;;) {
    const Position position = lower(low);
    if (at_end(position)) break;
    const Segment whole = directory_->entries[position.block].block->segments[position.entry];
    if (whole.low >= high) break;
    erase(position);
    Segment piece = whole;
    if (whole.low < low) {
      Segment left = whole;
      left.high = piece.low = low;
      insert(left);
    }
    if (whole.high > high) {
      Segment right = whole;
      right.low = piece.high = high;
      insert(right);
    }
    pieces.push_back(piece);
  }
  return pieces;
}

SegmentIndex::Block* SegmentIndex::fresh_block() {
  if (!free_.empty()) {
    Block* block = free_.back();
    free_.pop_back();
    return block;
  }
  blocks_.push_back(std::make_unique<Block>());
  return blocks_.back().get();
}

void SegmentIndex::add_block(std::uint32_t at, Block* block) {
  if (directory_->count == directory_->capacity) {
    auto larger = std::make_unique<Directory>(2 * directory_->capacity);
    std::copy_n(directory_->entries.get(), directory_->count, larger->entries.get());
    larger->count = directory_->count;
    store(directory_, larger.get());
    directories_.push_back(std::move(larger));
  }
  Directory& directory = *directory_;
  for (std::uint32_t i = directory.count; i > at; --i) {
    store(directory.entries[i].low, directory.entries[i - 1].low);
    store(directory.entries[i].block, directory.entries[i - 1].block);
  }
  store(directory.entries[at].low, block->segments[0].low);
  store(directory.entries[at].block, block);
  store(directory.count, directory.count + 1);
}

void SegmentIndex::drop_block(std::uint32_t at) {
  Directory& directory = *directory_;
  free_.push_back(directory.entries[at].block);
  for (std::uint32_t i = at + 1; i < directory.count; ++i) {
    store(directory.entries[i - 1].low, directory.entries[i].low);
    store(directory.entries[i - 1].block, directory.entries[i].block);
  }
  store(directory.count, directory.count - 1);
}

}  // namespace terrace::observe
