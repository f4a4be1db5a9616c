// Tests of write-back: the comparison of evicted chunks with the file, and the file's content afterwards.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <thread>

#include "spill_fixture.hpp"

namespace terrace::transfer {
namespace {

// The disk refuses new content of chunks that the file holds: the old content must not return.
TEST_P(SpillTest, RefusedWrite_OldContentDoesNotReturn) {
  constexpr std::size_t k_chunks = 60;
  Spilled memory(k_chunks, GetParam());
  auto* const data = memory.allocate(k_chunks);
  const auto write_round = [&](std::uint64_t round) {
    for (std::size_t i = 0; i < k_chunks * k_words; i += 512) data[i] = value(i, round);
  };
  const auto expect_round = [&](std::uint64_t round) {
    for (std::size_t i = 0; i < k_chunks * k_words; i += 512) ASSERT_EQ(data[i], value(i, round)) << "word " << i;
  };
  write_round(0);
  write_round(0);  // every chunk has been in the file
  const auto usual = memory.counts().limit.load();
  std::optional<SmallFiles> small(1);
  write_round(1);
  expect_round(1);
  ASSERT_GT(memory.counts().in_memory, usual + 10 * k_chunk) << "the disk refused none";
  small.reset();
  const auto end = std::chrono::steady_clock::now() + k_deadline;
  while (memory.counts().in_memory > usual + 4 * k_chunk && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_LE(memory.counts().in_memory, usual + 4 * k_chunk);
  expect_round(1);
  expect_round(1);
}

// A disk that is full in the middle of a chunk takes a part of it: that is no valid copy.
TEST_P(SpillTest, PartialWrite_ChunkStaysInMemory) {
  constexpr std::size_t k_chunks = 80;
  auto* const before = signal(SIGXFSZ, SIG_IGN);
  rlimit limit{};
  getrlimit(RLIMIT_FSIZE, &limit);
  const rlimit little{50 * k_chunk + k_chunk / 2, limit.rlim_max};
  setrlimit(RLIMIT_FSIZE, &little);
  {
    Spilled memory(k_chunks, GetParam());
    auto* const data = memory.allocate(k_chunks);
    for (std::uint64_t round = 0; round < 4; ++round)
      for (std::size_t i = 0; i < k_chunks * k_words; i += 512) {
        if (round > 0) {
          ASSERT_EQ(data[i], value(i, round - 1)) << "round " << round << ", chunk " << i / k_words;
        }
        data[i] = value(i, round);
      }
    EXPECT_GT(memory.counts().written, 0U);
    EXPECT_EQ(memory.counts().written % k_chunk, 0U);
  }
  setrlimit(RLIMIT_FSIZE, &limit);
  signal(SIGXFSZ, before);
}

// Chunks that differ from zero, and from their previous content, in one byte.
TEST_P(SpillTest, ChunkWithOneNonZeroByte_IsKept) {
  constexpr std::size_t k_chunks = 40;
  Spilled memory(3 * k_chunks, GetParam());
  for (const std::size_t at : {std::size_t{0}, k_chunk / 2 - 1, k_chunk - 1}) {
    auto* const block = memory.allocate(k_chunks);
    auto* const bytes = reinterpret_cast<std::uint8_t*>(block);
    for (unsigned round = 0; round < 5; ++round)
      for (std::size_t c = 0; c < k_chunks; ++c) {
        auto& byte = bytes[c * k_chunk + at];
        ASSERT_EQ(byte, round > 0 ? 100 * (c % 2) + round : 0) << "byte " << at << " of chunk " << c;
        byte = static_cast<std::uint8_t>(100 * (c % 2) + round + 1);
      }
    EXPECT_EQ(memory.counts().content, k_chunks * k_chunk);
    memory.release(block);
  }
}

// A chunk of equal bytes is not necessarily zero.
TEST_P(SpillTest, ChunkOfEqualBytes_IsKept) {
  constexpr std::size_t k_chunks = 40;
  Spilled memory(k_chunks, GetParam());
  auto* const data = memory.allocate(k_chunks);
  const auto all_of = [](std::size_t c) { return 0x0101010101010101 * (c + 1); };
  for (std::size_t c = 0; c < k_chunks; ++c) std::fill_n(data + c * k_words, k_words, all_of(c));
  for (std::size_t i = 0; i < k_chunks * k_words; i += 512)
    ASSERT_EQ(data[i], all_of(i / k_words)) << "chunk " << i / k_words;
}

// The file holds nothing of freed chunks, even if the same content is written to the same addresses again.
TEST_P(SpillTest, SameContentAfterFree_IsWrittenAgain) {
  constexpr std::size_t k_chunks = 60;
  Spilled memory(k_chunks, GetParam());
  std::set<std::uint64_t*> places;
  for (int round = 0; round < 3; ++round) {
    auto* const data = memory.allocate(k_chunks);
    places.insert(data);
    for (std::size_t c = 0; c < k_chunks; ++c)
      for (std::size_t i = 0; i < k_words; i += 512) data[c * k_words + i] = c + 1;
    for (std::size_t c = 0; c < k_chunks; ++c)
      for (std::size_t i = 0; i < k_words; i += 512)
        ASSERT_EQ(data[c * k_words + i], c + 1) << "round " << round << ", chunk " << c;
    memory.release(data);
  }
  EXPECT_EQ(places.size(), 1U);
}

// Discarded chunks are zero from any state: mapped, unmapped, in transfer, or swapped out.
TEST_P(SpillTest, DiscardedChunks_InAnyState_AreZero) {
  constexpr std::size_t k_chunks = 60;
  Spilled memory(k_chunks, GetParam());
  auto* const data = memory.allocate(k_chunks);
  for (std::size_t round = 0; round < 6; ++round) {
    for (int sweep = 0; sweep < 2; ++sweep)
      for (std::size_t c = 0; c < k_chunks; ++c)
        for (std::size_t i = 0; i < k_words; i += 512) data[c * k_words + i] = c + 1;
    const auto goes = [&](std::size_t c) { return (c + round) % 3 != 0; };
    std::size_t left = k_chunks;
    // From the end: the latest chunks are resident.
    for (std::size_t c = k_chunks; c-- > 0;) {
      if (!goes(c)) continue;
      memory.spill().discard(reinterpret_cast<std::uint64_t>(data + c * k_words), k_chunk);
      ASSERT_EQ(memory.counts().content, --left * k_chunk) << "round " << round << ", chunk " << c;
    }
    for (std::size_t c = k_chunks; c-- > 0;)
      for (std::size_t i = 0; i < k_words; i += 512)
        ASSERT_EQ(data[c * k_words + i], goes(c) ? 0 : c + 1) << "round " << round << ", chunk " << c;
  }
}

}  // namespace
}  // namespace terrace::transfer
