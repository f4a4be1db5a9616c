// Test fixture: chunks of one size in a machine with two memories, as strategies see them.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "memory/ledger.hpp"
#include "strategy/strategy.hpp"
#include "two_places.hpp"

namespace terrace::strategy {

inline constexpr Bytes k_chunk_size{4096};

struct PlacedChunks {
  // `fast_chunks`: how many chunks fast memory holds.
  PlacedChunks(const std::vector<PlaceId>& places, std::uint64_t fast_chunks)
      : ledger(*page, {Bytes{fast_chunks * k_chunk_size.value}, Bytes{1 << 20}}) {
    context.machine = &machine;
    context.chunks = &chunks;
    context.ledger = &ledger;
    for (const auto place : places) {
      chunks.add(0, static_cast<std::uint32_t>(k_chunk_size.value), 0, 0, place);
      ledger.take(place, k_chunk_size);
    }
  }

  machine::Machine machine = two_latencies();
  memory::ChunkTable chunks;
  std::unique_ptr<memory::LedgerPage> page = std::make_unique<memory::LedgerPage>();
  memory::Ledger ledger;
  Context context;
};

}  // namespace terrace::strategy
