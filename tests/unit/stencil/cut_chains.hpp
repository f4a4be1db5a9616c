// Compares how an executor and virtual time cut chains. Kernels do nothing.
#pragma once

#include <gtest/gtest.h>

#include <span>
#include <vector>

#include "core/error.hpp"
#include "stencil/data/reductions.hpp"
#include "stencil/stream/chain_splitter.hpp"
#include "virtual_chains.hpp"

namespace terrace::stencil::test {

inline void expect_same_cut(const CutChain& real, const CutChain& ours, std::size_t loops) {
  EXPECT_EQ(real.chunk, ours.chunk);
  EXPECT_EQ(real.frames, ours.frames);
  EXPECT_EQ(real.outer, ours.outer);
  ASSERT_EQ(real.tiles->tiles(), ours.tiles->tiles());
  EXPECT_EQ(real.tiles->reversed(), ours.tiles->reversed());
  std::array<std::size_t, k_max_dims> tile;
  for (tile[2] = 0; tile[2] < real.tiles->tiles()[2]; ++tile[2])
    for (tile[1] = 0; tile[1] < real.tiles->tiles()[1]; ++tile[1])
      for (tile[0] = 0; tile[0] < real.tiles->tiles()[0]; ++tile[0])
        for (std::size_t l = 0; l < loops; ++l) ASSERT_EQ(real.tiles->part(l, tile), ours.tiles->part(l, tile));
  ASSERT_EQ(real.stream->steps.size(), ours.stream->steps.size());
  for (std::size_t s = 0; s < real.stream->steps.size(); ++s) {
    EXPECT_EQ(real.stream->steps[s].first_tile, ours.stream->steps[s].first_tile);
    EXPECT_EQ(real.stream->steps[s].last_tile, ours.stream->steps[s].last_tile);
  }
  EXPECT_EQ(real.stream->most_chunks, ours.stream->most_chunks);
  ASSERT_EQ(real.stream->uses.size(), ours.stream->uses.size());
  for (std::size_t u = 0; u < real.stream->uses.size(); ++u) {
    const auto &one = real.stream->uses[u], &other = ours.stream->uses[u];
    ASSERT_EQ(one.chunk, other.chunk);
    ASSERT_EQ(std::tuple(one.first, one.last, one.is_fetched, one.is_written),
              std::tuple(other.first, other.last, other.is_fetched, other.is_written));
  }
}

// Runs three chains, alternating in direction; returns whether they fit.
inline bool compare_cuts(Executor& real, Mode& ours, std::span<const DatasetInfo> infos, Chain chain) {
  Reductions none;
  for (auto& loop : chain) {
    loop.reductions.clear();
    loop.body = [](const Call&) {};
    loop.device = [](const DeviceCall&) {};
  }
  for (const auto& info : infos) {
    real.add(info);
    ours.add(info);
  }
  for (int times = 0; times < 3; ++times) {
    try {
      real.run(chain, none);
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("is too little for a chain"), std::string::npos) << error.what();
      EXPECT_THROW(ours.run(chain), InsufficientMemory);
      return false;
    }
    ours.run(chain);
    expect_same_cut(real.cut(), ours.cut(), chain.size());
    if (testing::Test::HasFatalFailure()) break;
  }
  return true;
}

}  // namespace terrace::stencil::test
