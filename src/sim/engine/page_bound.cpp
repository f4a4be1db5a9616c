// See page_bound.hpp.
#include "sim/engine/page_bound.hpp"

#include <algorithm>

namespace terrace::sim {

namespace {

constexpr std::uint64_t k_page = 4096;

}  // namespace

void PageBound::grow(std::uint32_t page) {
  if (page < has_content_.size()) return;
  const auto size = std::max<std::size_t>(page + std::size_t{1}, 2 * has_content_.size());
  has_content_.resize(size, false);
  for (auto& way : ways_) {
    way.touched_in.resize(size, 0);
    way.stored_in.resize(size, 0);
  }
}

void PageBound::end(Way& way) {
  way.read += way.with_content - std::min(way.with_content, way.capacity);
  way.written += way.stored - std::min(way.stored, way.capacity);
  way.touched = way.with_content = way.stored = way.capacity = 0;
  ++way.stretch;
}

void PageBound::touch(std::uint32_t page, std::uint64_t capacity) {
  grow(page);
  for (std::size_t i = 0; i < ways_.size(); ++i) {
    auto& way = ways_[i];
    // The memory may grow or shrink: what it holds at most in a stretch is what nobody can have needed to move.
    way.capacity = std::max(way.capacity, capacity);
    if (way.touched_in[page] == way.stretch) continue;
    if (k_multiples[i] > 0 && static_cast<double>(way.touched) >= k_multiples[i] * static_cast<double>(capacity)) {
      end(way);
      way.capacity = capacity;
    }
    way.touched_in[page] = way.stretch;
    ++way.touched;
    if (has_content_[page]) ++way.with_content;
  }
  has_content_[page] = true;
}

void PageBound::store(std::uint32_t page, std::uint64_t capacity) {
  grow(page);
  for (auto& way : ways_) {
    way.capacity = std::max(way.capacity, capacity);
    if (way.stored_in[page] == way.stretch) continue;
    way.stored_in[page] = way.stretch;
    ++way.stored;
  }
}

// Of what was stored in them nothing has to be kept; what was read before that had to be.
void PageBound::forget(std::uint32_t first, std::uint32_t count) {
  for (auto page = first; page < first + count && page < has_content_.size(); ++page) {
    has_content_[page] = false;
    for (auto& way : ways_) {
      if (way.stored_in[page] == way.stretch) --way.stored;
      way.stored_in[page] = 0;
    }
  }
}

PageBound::Least PageBound::cut() {
  std::uint64_t read = 0;
  std::uint64_t written = 0;
  for (auto& way : ways_) {
    end(way);
    read = std::max(read, way.read);
    written = std::max(written, way.written);
    way.read = way.written = 0;
  }
  least_.read += Bytes{read * k_page};
  least_.written += Bytes{written * k_page};
  return least_;
}

}  // namespace terrace::sim
