// Tests the moves back to earlier places, with fast memory for two chunks.
#include "strategy/learning/restored_places.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "placed_chunks.hpp"

namespace terrace::strategy {
namespace {

// Has given pending moves, and records the requested ones.
class RecordingRequests final : public IdleRequests {
 public:
  using IdleRequests::request_moves;
  void request_moves(std::span<const transfer::TransferRequest> asked, PhaseIndex, std::uint32_t) override {
    moves.assign(asked.begin(), asked.end());
  }
  bool is_idle() override { return on_their_way.empty(); }
  std::vector<std::pair<ChunkId, PlaceId>> pending_moves() override { return on_their_way; }

  std::vector<std::pair<ChunkId, PlaceId>> on_their_way;
  std::vector<transfer::TransferRequest> moves;
};

struct ThreeChunks : PlacedChunks {
  explicit ThreeChunks(const std::vector<PlaceId>& places) : PlacedChunks(places, 2) {}

  // Chunk and target of each requested move, in order.
  std::vector<std::pair<ChunkId, PlaceId>> moves_to(std::vector<PlaceId> places) {
    request_places(context, places, 0, requests);
    std::vector<std::pair<ChunkId, PlaceId>> all;
    for (const auto& move : requests.moves) all.emplace_back(move.chunk, move.to);
    return all;
  }

  RecordingRequests requests;
};

using Moves = std::vector<std::pair<ChunkId, PlaceId>>;

TEST(RestoredPlaces, SwappedChunks_LeaveFastMemoryBeforeOthersEnter) {
  ThreeChunks program({k_slow, k_fast, k_fast});
  EXPECT_EQ(program.moves_to({k_fast, k_fast, k_slow}), (Moves{{2, k_slow}, {0, k_fast}}));
}

TEST(RestoredPlaces, FastMemoryTakenMeanwhile_ChunkStaysInSlowMemory) {
  ThreeChunks program({k_slow, k_fast, k_fast});
  EXPECT_EQ(program.moves_to({k_fast, k_fast, k_no_place}), Moves{}) << "the third came later";
  EXPECT_EQ(program.moves_to({k_fast}), Moves{}) << "of the others nothing is known";
}

TEST(RestoredPlaces, ChunkUnderWay_CountsWhereItArrives) {
  ThreeChunks program({k_fast, k_slow, k_slow});
  program.requests.on_their_way = {{1, k_fast}};
  EXPECT_EQ(program.moves_to({k_fast, k_slow, k_fast}), (Moves{{1, k_slow}, {2, k_fast}}));
}

TEST(RestoredPlaces, FreedChunk_IsSkipped) {
  ThreeChunks program({k_slow, k_slow, k_slow});
  program.chunks[0].live = false;
  EXPECT_EQ(program.moves_to({k_fast, k_fast, k_slow}), (Moves{{1, k_fast}}));
}

}  // namespace
}  // namespace terrace::strategy
