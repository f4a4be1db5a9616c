// SPDX-License-Identifier: Apache-2.0
// Maps addresses of a trace to objects and canonical addresses, for trace_misses.cpp. See trace_memory.hpp.
#include "tracer/trace_memory.hpp"

#include <algorithm>
#include <filesystem>
#include <iterator>

namespace terrace::tracer {

namespace {

constexpr std::uint64_t k_page = 4096;
constexpr std::uint64_t k_first_canonical = std::uint64_t{1} << 20;
// Added to memory that keeps its address, which separates it from fresh addresses.
constexpr std::uint64_t k_in_place = std::uint64_t{1} << 60;
constexpr std::size_t k_recent = 4096;

}  // namespace

TraceMemory::TraceMemory(const TraceProgram& program, std::uint64_t big_block)
    : big_block_(std::max<std::uint64_t>(big_block, 1)), next_(k_first_canonical), recent_(k_recent) {
  for (const auto& segment : program.segments()) {
    const auto object = segment.writable ? shared_object("(globals " + program.name() + ")", "fixed")
                                         : shared_object("(constants " + program.name() + ")", "constant");
    place(fixed_, segment.low, segment.high - segment.low, object, false);
  }
  for (const auto& variable : program.variables()) {
    const auto segment =
        std::find_if(program.segments().begin(), program.segments().end(), [&](const TraceProgram::Range& range) {
          return range.low <= variable.low && variable.high <= range.high;
        });
    if (segment == program.segments().end()) continue;
    const auto object =
        add_object(variable.name, segment->writable ? "fixed" : "constant", variable.high - variable.low);
    place(fixed_, variable.low, variable.high - variable.low, object, false);
  }
}

std::uint32_t TraceMemory::add_object(std::string name, std::string kind, std::uint64_t size) {
  objects_.push_back({std::move(name), std::move(kind), size});
  return static_cast<std::uint32_t>(objects_.size() - 1);
}

std::uint32_t TraceMemory::shared_object(const std::string& name, const std::string& kind) {
  const auto [entry, is_new] = shared_.try_emplace(name, 0);
  if (is_new) entry->second = add_object(name, kind, 0);
  return entry->second;
}

// Removes [low, high) from the pieces, which it splits at both ends.
void TraceMemory::carve(Pieces& pieces, std::uint64_t low, std::uint64_t high) {
  auto at = pieces.upper_bound(low);
  if (at != pieces.begin() && std::prev(at)->second.high > low) --at;
  while (at != pieces.end() && at->first < high) {
    const auto [begin, piece] = *at;
    at = pieces.erase(at);
    if (begin < low) pieces.emplace(begin, Piece{low, piece.delta, piece.object});
    if (piece.high > high) at = pieces.emplace(high, Piece{piece.high, piece.delta, piece.object}).first;
  }
}

// Assigns a range to an object: at fresh canonical addresses, or in place.
void TraceMemory::place(Pieces& pieces, std::uint64_t low, std::uint64_t size, std::uint32_t object, bool fresh) {
  if (size == 0) return;
  carve(pieces, low, low + size);
  auto delta = k_in_place;
  if (fresh) {
    delta = next_ - low;
    next_ += (size + k_page - 1) / k_page * k_page;
  }
  pieces.emplace(low, Piece{low + size, delta, object});
}

// Searches the pieces, and limits found.left to where the answer holds. Returns whether a piece has the address.
bool TraceMemory::look(const Pieces& pieces, std::uint64_t address, Found& found) {
  const auto after = pieces.upper_bound(address);
  // Nothing is known beyond the next piece.
  if (after != pieces.end()) found.left = std::min(found.left, after->first - address);
  if (after == pieces.begin()) return false;
  const auto& piece = std::prev(after)->second;
  if (address >= piece.high) return false;
  found.left = std::min(found.left, piece.high - address);
  found.canonical = address + piece.delta;
  found.object = piece.object;
  return true;
}

// Returns object and canonical address of an access.
TraceMemory::Found TraceMemory::find(std::uint64_t address) {
  Recent& recent = recent_[(address / k_page) % k_recent];
  if (address >= recent.low && address < recent.high)
    return {address + recent.delta, recent.high - address, recent.object};
  Found found;
  found.left = k_page - address % k_page;
  if (!look(blocks_, address, found) && !look(fixed_, address, found) && !look(mappings_, address, found)) {
    found.canonical = address + k_in_place;
    // QEMU itself loads what was there before the program ran: the stack, the dynamic linker.
    found.object = shared_object("(stack)", "stack");
  }
  recent = {address, address + found.left, found.canonical - address, found.object};
  return found;
}

// Applies allocations, releases and mappings to what addresses mean.
void TraceMemory::change(const TraceRecord& record, std::string_view site) {
  const auto low = record.address;
  const auto high = record.address + record.size;
  switch (record.kind) {
    case TraceKind::allocate:
      if (record.size < big_block_) {
        place(blocks_, low, record.size, shared_object("(small blocks)", "small"), false);
      } else {
        place(blocks_, low, record.size, add_object(std::string(site), "heap", record.size), true);
      }
      break;
    case TraceKind::release:
      blocks_.erase(low);
      break;
    case TraceKind::map: {
      carve(blocks_, low, high);
      const auto file = std::filesystem::path(record.text).filename().string();
      const auto object = record.flag    ? shared_object("(thread stack)", "stack")
                          : file.empty() ? shared_object("(mappings)", "mapping")
                                         : shared_object("(" + file + ")", "library");
      place(mappings_, low, record.size, object, false);
      break;
    }
    case TraceKind::unmap:
      carve(blocks_, low, high);
      carve(mappings_, low, high);
      break;
    case TraceKind::program_break:
      if (break_low_ == 0) break_low_ = low;
      if (low > break_low_)
        place(mappings_, break_low_, low - break_low_, shared_object("(small blocks)", "small"), false);
      break;
    default:
      return;
  }
  std::fill(recent_.begin(), recent_.end(), Recent{});
}

}  // namespace terrace::tracer
