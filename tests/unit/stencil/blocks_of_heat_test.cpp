// Tests a heat problem in several blocks with permuted axes: results are bitwise equal to those of one block.
#include <algorithm>
#include <array>
#include <cmath>

#include "ways.hpp"

namespace terrace::stencil::test {
namespace {

constexpr std::array<std::ptrdiff_t, 2> k_plate{142, 130};

// A part of the plate, whose axes may be permuted.
struct Piece {
  std::array<std::ptrdiff_t, 2> begin;
  std::array<std::ptrdiff_t, 2> end;
  bool is_turned = false;
  std::array<bool, 2> flipped{false, false};  // in the plate's axes
  Block block{};
  Dataset<double> heat{}, next{};

  [[nodiscard]] std::size_t own_axis(std::size_t axis) const { return is_turned ? 1 - axis : axis; }
  [[nodiscard]] std::ptrdiff_t length(std::size_t axis) const { return end[axis] - begin[axis]; }
  // Converts a range of the plate to the piece's own points.
  [[nodiscard]] Range own(const std::array<std::ptrdiff_t, 2>& from,
                          const std::array<std::ptrdiff_t, 2>& to) const {
    Range range;
    for (std::size_t axis = 0; axis < 2; ++axis) {
      const auto a = flipped[axis] ? end[axis] - to[axis] : from[axis] - begin[axis];
      range.begin[own_axis(axis)] = a;
      range.end[own_axis(axis)] = a + to[axis] - from[axis];
    }
    return range;
  }
  [[nodiscard]] bool has(std::size_t axis, std::ptrdiff_t at) const { return at >= begin[axis] && at < end[axis]; }
};

Orientation orientation(const Piece& from, const Piece& to) {
  Orientation made;
  for (std::size_t axis = 0; axis < 2; ++axis) {
    made.axes[to.own_axis(axis)] = from.own_axis(axis);
    made.flipped[to.own_axis(axis)] = from.flipped[axis] != to.flipped[axis];
  }
  return made;
}

// Fills the halo at a side of a piece: from its neighbour, or from itself at the plate's edge.
void fill(Context& context, const std::vector<Piece>& pieces, const Piece& piece, std::size_t axis, bool is_high) {
  auto begin = piece.begin, end = piece.end;
  begin[axis] = is_high ? piece.end[axis] : piece.begin[axis] - 1;
  end[axis] = begin[axis] + 1;
  const auto layer = piece.own(begin, end);
  if (begin[axis] < 0 || begin[axis] == k_plate[axis]) {
    Point offset{0, 0, 0};
    offset[piece.own_axis(axis)] = is_high != piece.flipped[axis] ? -1 : 1;
    piece.block.loop(
        "side", layer, [offset](auto u) { u() = u(offset[0], offset[1]); },
        read_write(piece.heat, Stencil(std::vector<Point>{offset})));
    return;
  }
  for (const auto& other : pieces) {
    if (!other.has(axis, begin[axis]) || !other.has(1 - axis, begin[1 - axis])) continue;
    context.transfer(other.heat, other.own(begin, end), piece.heat, layer, orientation(other, piece));
  }
}

// Returns the plate after some steps, by rows.
std::vector<double> heat(Context& context, std::vector<Piece> pieces, int steps) {
  for (auto& piece : pieces) {
    piece.block = context.block("piece", {piece.is_turned ? piece.length(1) : piece.length(0),
                                          piece.is_turned ? piece.length(0) : piece.length(1)});
    piece.heat = piece.block.dataset<double>("heat", {{-1, -1}, {1, 1}});
    piece.next = piece.block.dataset<double>("next", {{-1, -1}, {1, 1}});
  }
  for (auto& piece : pieces)
    piece.block.loop(
        "start", piece.block.range(),
        [&piece](auto u, auto i) {
          std::array<std::ptrdiff_t, 2> at{};
          for (std::size_t axis = 0; axis < 2; ++axis) {
            const auto own = i[piece.own_axis(axis)];
            at[axis] = piece.flipped[axis] ? piece.end[axis] - 1 - own : piece.begin[axis] + own;
          }
          u() = std::sin(static_cast<double>(at[0] * at[0] + 3 * at[1]));
        },
        write(piece.heat), index());
  for (int step = 1; step <= steps; ++step) {
    for (const auto& piece : pieces)
      for (std::size_t axis = 0; axis < 2; ++axis)
        for (const auto is_high : {false, true}) fill(context, pieces, piece, axis, is_high);
    for (auto& piece : pieces) {
      // The arithmetic order must not depend on the orientation of axes.
      piece.block.loop(
          "step", piece.block.range(),
          [](auto to, auto u) { to() = u() + 0.2 * (((u(-1) + u(1)) + (u(0, -1) + u(0, 1))) - 4 * u()); },
          write(piece.next), read(piece.heat, star(2, 1)));
      std::swap(piece.heat, piece.next);
    }
    if (step % 3 == 0) context.run();
  }
  std::vector<double> plate(static_cast<std::size_t>(k_plate[0] * k_plate[1]));
  for (const auto& piece : pieces) {
    const auto all = piece.block.range();
    const auto numbers = piece.heat.get(all);
    for (auto y = piece.begin[1]; y < piece.end[1]; ++y)
      for (auto x = piece.begin[0]; x < piece.end[0]; ++x) {
        const auto at = piece.own({x, y}, {x + 1, y + 1}).begin;
        plate[static_cast<std::size_t>(y * k_plate[0] + x)] =
            numbers[static_cast<std::size_t>(at[1] * all.length(0) + at[0])];
      }
  }
  return plate;
}

std::vector<std::vector<Piece>> cuts() {
  const std::vector<Piece> quarters{{{0, 0}, {70, 51}},
                                    {{70, 0}, {142, 51}, true, {true, false}},
                                    {{0, 51}, {70, 130}, false, {false, true}},
                                    {{70, 51}, {142, 130}, true, {false, true}}};
  auto straight = quarters;
  for (auto& piece : straight) {
    piece.is_turned = false;
    piece.flipped = {false, false};
  }
  return {{{{0, 0}, {57, 130}}, {{57, 0}, {142, 130}}},
          {{{0, 0}, {57, 130}}, {{57, 0}, {142, 130}, true, {true, true}}},
          straight,
          quarters};
}

TEST(Transfers, PlateInSeveralBlocks_MatchesOneBlock) {
  Context alone({.executor = "serial"});
  const auto whole = heat(alone, {{{0, 0}, k_plate}}, 12);
  EXPECT_EQ(alone.statistics().transfers, 0U);
  EXPECT_GT(*std::ranges::max_element(whole) - *std::ranges::min_element(whole), 0.1);
  double moved = 0;
  for (std::size_t c = 0; c < cuts().size(); ++c)
    for (const auto& way : ways()) {
      SCOPED_TRACE("cut " + std::to_string(c) + ", " + way.options.executor + ", ranks " +
                   std::to_string(way.ranks));
      const auto found = in(way, [&](Context& context) {
        auto plate = heat(context, cuts()[c], 12);
        if (way.ranks == 1) moved += context.statistics().bytes_in;
        return plate;
      });
      ASSERT_EQ(found, whole);
    }
  EXPECT_GT(moved, 0);  // the data exceed the memory
}

}  // namespace
}  // namespace terrace::stencil::test
