// Tests temporary datasets with kept points: results in every configuration, bytes moved, and refusals.
#include <gtest/gtest.h>

#include <random>

#include "core/error.hpp"
#include "stencil/plan/stream_plan.hpp"
#include "ways.hpp"

namespace terrace::stencil::test {
namespace {

constexpr std::ptrdiff_t k_width = 60, k_height = 400;
constexpr int k_steps = 7;
const Halo k_around{{0, -1}, {0, 1}};
const Range k_below{{0, k_width}, {-1, 0}}, k_above{{0, k_width}, {k_height, k_height + 1}};

enum class Kind { ordinary, kept };

// Halo rows are written sometimes and read in each step; each step writes all others first.
std::vector<double> run(Context& context, Kind kind) {
  const auto block = context.block("block", {k_width, k_height});
  auto u = block.dataset<double>("u");
  const auto v = block.dataset<double>("v");
  const auto t = kind == Kind::kept ? block.temporary<double>("t", k_around, {k_below, k_above})
                                    : block.dataset<double>("t", k_around);
  block.loop(
      "start", block.range(), [](auto to, auto at) { to() = static_cast<double>(at[0] - 2 * at[1]); }, write(u),
      index());
  for (const auto& side : {k_below, k_above})
    block.loop(
        "side", side, [](auto to, auto at) { to() = 0.5 * static_cast<double>(at[0] + 2 * at[1]); }, write(t),
        index());
  context.run();
  for (int step = 0; step < k_steps; ++step) {
    if (step % 3 == 2)
      block.loop(
          "change", k_below, [](auto to) { to() = 1 - to(); }, read_write(t));
    block.loop(
        "double", block.range(), [](auto to, auto from) { to() = 2 * from(); }, write(t), read(u));
    block.loop(
        "spread", block.range(), [](auto to, auto from) { to() = from(0, -1) + from(0, 1); }, write(v),
        read(t, Stencil{{0, -1}, {0, 1}}));
    block.loop(
        "back", block.range(), [](auto to, auto from) { to() = 0.25 * from() + 0.5 * to(); }, read_write(u),
        read(v));
    context.run();
  }
  return u.get(block.range());
}

std::vector<double> plain() {
  std::vector<double> u, below, above;
  for (std::ptrdiff_t y = 0; y < k_height; ++y)
    for (std::ptrdiff_t x = 0; x < k_width; ++x)
      u.push_back(static_cast<double>(x) - 2.0 * static_cast<double>(y));
  for (std::ptrdiff_t x = 0; x < k_width; ++x) {
    below.push_back(0.5 * static_cast<double>(x) - 1);
    above.push_back(0.5 * static_cast<double>(x) + k_height);
  }
  for (int step = 0; step < k_steps; ++step) {
    for (auto& number : below) number = step % 3 == 2 ? 1 - number : number;
    const auto old = u;
    const auto doubled = [&](std::ptrdiff_t x, std::ptrdiff_t y) {
      const auto column = static_cast<std::size_t>(x);
      if (y < 0) return below[column];
      return y == k_height ? above[column] : 2 * old[static_cast<std::size_t>(y * k_width) + column];
    };
    for (std::ptrdiff_t y = 0; y < k_height; ++y)
      for (std::ptrdiff_t x = 0; x < k_width; ++x) {
        auto& number = u[static_cast<std::size_t>(y * k_width + x)];
        number = 0.25 * (doubled(x, y - 1) + doubled(x, y + 1)) + 0.5 * number;
      }
  }
  return u;
}

TEST(Temporaries, KeptPoints_OutliveChain) {
  const auto expected = plain();
  for (const auto& way : ways())
    for (const auto kind : {Kind::ordinary, Kind::kept})
      EXPECT_EQ(in(way, [&](Context& context) { return run(context, kind); }), expected)
          << way.options.executor << ", " << way.ranks << " ranks, " << (kind == Kind::kept ? "kept" : "ordinary");
}

TEST(Temporaries, Temporaries_MoveFewerBytes) {
  const Options options{
      .executor = "streamed", .threads = 1, .tile = {0, 4, 0}, .memory = 256 << 10, .folder = testing::TempDir()};
  const auto moved = [&](Kind kind) {
    Context context(options);
    run(context, kind);
    return context.statistics();
  };
  const auto ordinary = moved(Kind::ordinary), kept = moved(Kind::kept);
  EXPECT_LT(kept.bytes_out, 0.75 * ordinary.bytes_out);  // one of three datasets is hardly stored
  EXPECT_LT(kept.bytes_in, ordinary.bytes_in);
}

TEST(Temporaries, ReadOfLostValues_Throws) {
  Context context(Options{.executor = "serial"});
  const auto block = context.block("block", {8, 6});
  const auto u = block.dataset<double>("u");
  const auto t = block.temporary<double>("t", k_around, {{{0, 8}, {-1, 0}}});
  block.loop(
      "read", block.range(), [](auto to, auto from) { to() = from(0, -1); }, write(u), read(t, Stencil{{0, -1}}));
  try {
    context.run();
    FAIL() << "nothing is refused";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::invalid);
    EXPECT_NE(std::string(error.what()).find("'t' is read at 0..8 x 0..5"), std::string::npos) << error.what();
  }
  block.loop(
      "read one row", Range{{0, 8}, {0, 1}}, [](auto to, auto from) { to() = from(0, -1); }, write(u),
      read(t, Stencil{{0, -1}}));
  EXPECT_NO_THROW(context.run());
}

// A chunk is kept if and only if its rows, or planes, have a kept point.
TEST(Temporaries, KeptPoints_KeepTheirChunks) {
  std::mt19937 random(3);
  const auto number = [&](std::ptrdiff_t low, std::ptrdiff_t high) {
    return std::uniform_int_distribution<std::ptrdiff_t>(low, high)(random);
  };
  for (int i = 0; i < 300; ++i) {
    DatasetInfo info;
    info.element = 8;
    info.is_temporary = true;
    for (std::size_t d = 0; d < 3; ++d) {
      info.range.begin[d] = number(-2, 0);
      info.range.end[d] = d == 2 && i % 2 == 0 ? info.range.begin[d] + 1 : number(1, 30);
    }
    info.row = info.range.length(0) + number(0, 7);
    info.plane = info.row * info.range.length(1);
    for (auto k = number(0, 2); k > 0; --k) {
      auto kept = info.range;
      const auto d = static_cast<std::size_t>(number(0, 2));
      kept.begin[d] = number(info.range.begin[d], info.range.end[d] - 1);
      kept.end[d] = std::min(info.range.end[d], kept.begin[d] + 2);
      info.kept.push_back(kept);
    }
    const StreamLayout layout{512, {static_cast<std::size_t>(number(0, 30)) * 8}, {true}};
    const auto found = kept_chunks(info, layout);
    ASSERT_EQ(found.size(), layout.chunks(info));
    std::vector<bool> has(found.size(), false), may(found.size(), false);
    const auto chunk_at = [&](const Point& point, std::ptrdiff_t beyond) {
      const auto byte = static_cast<std::ptrdiff_t>(layout.shift[0]) + info.offset(point) + beyond;
      return std::min(static_cast<std::size_t>(byte) / layout.chunk, found.size() - 1);
    };
    for (auto z = info.range.begin[2]; z < info.range.end[2]; ++z)
      for (auto y = info.range.begin[1]; y < info.range.end[1]; ++y)
        for (auto x = info.range.begin[0]; x < info.range.end[0]; ++x)
          if (info.keeps({{x, x + 1}, {y, y + 1}, {z, z + 1}})) has[chunk_at({x, y, z}, 0)] = true;
    const auto slow = info.slow_dimension();
    const auto stride = 8 * (slow == 2 ? info.plane : slow == 1 ? info.row : 1);
    for (auto i_slow = info.range.begin[slow]; i_slow < info.range.end[slow]; ++i_slow) {
      auto piece = info.range;  // a row or a plane, padding included
      piece.begin[slow] = i_slow;
      piece.end[slow] = i_slow + 1;
      if (!info.keeps(piece)) continue;
      for (auto c = chunk_at(piece.begin, 0); c <= chunk_at(piece.begin, stride - 1); ++c) may[c] = true;
    }
    for (std::size_t c = 0; c < found.size(); ++c) {
      EXPECT_TRUE(!has[c] || found[c]) << "seed " << i << ", chunk " << c;
      EXPECT_TRUE(!found[c] || may[c]) << "seed " << i << ", chunk " << c;
    }
  }
}

}  // namespace
}  // namespace terrace::stencil::test
