// Tests of price fits to moves with known costs.
#include "transfer/measure/price_fit.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace terrace::transfer {
namespace {

std::vector<PricedMove> moves_at(const FittedPrice& price, double noise) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> off(1 - noise, 1 + noise);
  std::vector<PricedMove> moves;
  for (const double pages : {16.0, 64.0, 128.0, 256.0, 512.0, 2048.0}) {
    const double pieces = pages > 512 ? pages / 512 : 1;
    for (const bool huge : {false, true}) {
      if (huge && pages < 512) continue;
      PricedMove move{pieces, huge ? 0 : pages, huge ? pages / 512 : 0, 0, 0};
      move.seconds = pieces * price.call + move.small * price.small + move.huge * price.huge;
      move.whole = (move.seconds + pages * 0.2e-6) * off(random);
      move.seconds = move.whole - pages * 0.2e-6;
      moves.push_back(move);
    }
  }
  return moves;
}

TEST(PriceFit, ExactMoves_RecoversPrice) {
  for (const auto& price : {FittedPrice{10e-6, 0.2e-6, 15e-6}, FittedPrice{10e-6, 0.2e-6, 0},
                            FittedPrice{0, 1e-6, 4e-6}, FittedPrice{5e-6, 0, 0}}) {
    const auto found = fit_price(moves_at(price, 0));
    EXPECT_NEAR(found.call, price.call, 1e-12);
    EXPECT_NEAR(found.small, price.small, 1e-12);
    EXPECT_NEAR(found.huge, price.huge, 1e-12);
  }
}

TEST(PriceFit, NoisyMoves_PredictsTheirTimes) {
  const FittedPrice price{10e-6, 0.2e-6, 15e-6};
  const auto moves = moves_at(price, 0.02);
  const auto found = fit_price(moves);
  for (const auto& move : moves) {
    const auto said = move.pieces * found.call + move.small * found.small + move.huge * found.huge;
    EXPECT_NEAR(said + move.whole - move.seconds, move.whole, 0.05 * move.whole);
  }
}

// Moves faster than their copy do not give a negative price; unused page sizes have none.
TEST(PriceFit, AnyMoves_PriceIsNonNegative) {
  auto moves = moves_at({10e-6, 0.2e-6, 15e-6}, 0);
  for (auto& move : moves)
    if (move.huge > 0) move.seconds = -5e-6;
  const auto found = fit_price(moves);
  EXPECT_GE(found.call, 0);
  EXPECT_GE(found.small, 0);
  EXPECT_EQ(found.huge, 0);
  std::erase_if(moves, [](const PricedMove& move) { return move.huge > 0; });
  EXPECT_EQ(fit_price(moves).huge, 0);
  EXPECT_NEAR(fit_price(moves).call, 10e-6, 1e-12);
  EXPECT_EQ(fit_price({}).call, 0);
}

}  // namespace
}  // namespace terrace::transfer
