// Tests transfers between datasets: random programs of several blocks equal plain arrays; chains are as long as
// possible; wrong calls are refused.
#include <algorithm>
#include <map>
#include <optional>

#include "random_chain.hpp"
#include "random_transfer.hpp"
#include "ways.hpp"

namespace terrace::stencil::test {
namespace {

using Field = std::map<Point, double>;

struct RandomSet {
  std::size_t block;
  Range range;
};
struct Action {
  bool is_transfer = false;
  BlockTransfer transfer;  // datasets by id
  std::size_t into = 0, from = 0;
  Range range;
  Point offset{0, 0, 0};
  double factor = 0;
};
struct Several {
  std::vector<std::vector<std::ptrdiff_t>> blocks;
  std::vector<RandomSet> sets;
  std::vector<Halo> halos;
  std::vector<Action> actions;
};

Range moved_range(Range range, const Point& offset) {
  for (std::size_t d = 0; d < k_max_dims; ++d) {
    range.begin[d] += offset[d];
    range.end[d] += offset[d];
  }
  return range;
}

// Returns nothing if the parts are of one dataset and overlap.
std::optional<BlockTransfer> random_transfer(const Several& program, RandomMaker& maker) {
  const auto last = static_cast<std::ptrdiff_t>(program.sets.size()) - 1;
  const auto from = static_cast<DatasetId>(maker.number(0, last));
  const auto to = static_cast<DatasetId>(maker.number(0, last));
  const auto made = random_transfer(maker, from, program.sets[from].range, to, program.sets[to].range);
  if (from == to && !intersection(made.from_range, made.to_range).empty()) return {};
  return made;
}

Several random_blocks(RandomMaker& maker) {
  Several program;
  const auto blocks = maker.number(1, 3);
  for (std::ptrdiff_t b = 0; b < blocks; ++b) {
    const auto dims = static_cast<std::size_t>(maker.number(1, 3));
    auto& size = program.blocks.emplace_back();
    for (std::size_t d = 0; d < dims; ++d) size.push_back(maker.number(1, dims == 1 ? 40 : dims == 2 ? 14 : 7));
    for (std::ptrdiff_t i = maker.number(1, 2); i > 0; --i) {
      Range range;
      Halo halo;
      for (std::size_t d = 0; d < dims; ++d) {
        halo.low[d] = -maker.number(0, 2);
        halo.high[d] = maker.number(0, 2);
        range.begin[d] = halo.low[d];
        range.end[d] = size[d] + halo.high[d];
      }
      program.sets.push_back({static_cast<std::size_t>(b), range});
      program.halos.push_back(halo);
    }
  }
  const auto last = static_cast<std::ptrdiff_t>(program.sets.size()) - 1;
  for (std::ptrdiff_t i = maker.number(4, 20); i > 0; --i) {
    Action action;
    action.factor = maker.factor();
    if (maker.number(0, 2) == 0) {
      const auto transfer = random_transfer(program, maker);
      if (!transfer) continue;
      action.is_transfer = true;
      action.transfer = *transfer;
    } else {
      action.into = static_cast<std::size_t>(maker.number(0, last));
      action.from = static_cast<std::size_t>(maker.number(0, last));
      const auto &into = program.sets[action.into], &from = program.sets[action.from];
      if (into.block != from.block) continue;
      if (action.into != action.from)
        for (std::size_t d = 0; d < program.blocks[into.block].size(); ++d) action.offset[d] = maker.number(-2, 2);
      const Point back{-action.offset[0], -action.offset[1], -action.offset[2]};
      action.range = intersection(intersection(into.range, from.range), moved_range(from.range, back));
      if (action.range.empty()) continue;
    }
    program.actions.push_back(action);
  }
  return program;
}

double changed(double own, double other, double factor, const Point& at) {
  return 0.5 * own + factor * other + 0.01 * static_cast<double>(at[0] + 2 * at[1] + 3 * at[2]);
}

using Numbers = std::vector<std::vector<double>>;

template <class Action>
void for_all(const Range& range, Action action) {
  for (auto z = range.begin[2]; z < range.end[2]; ++z)
    for (auto y = range.begin[1]; y < range.end[1]; ++y)
      for (auto x = range.begin[0]; x < range.end[0]; ++x) action(Point{x, y, z});
}

// Evaluates transfers point by point on plain arrays.
Numbers plainly(const Several& program) {
  std::vector<Field> fields(program.sets.size());
  for (const auto& action : program.actions) {
    auto before = fields;
    if (action.is_transfer) {
      const auto& [from, from_range, to, to_range, orientation, element] = action.transfer;
      for_all(to_range, [&, &source = from_range, &target = to_range, &axes = orientation.axes,
                         &flipped = orientation.flipped, &of = before[from], &into = fields[to]](const Point& at) {
        Point p{};
        for (std::size_t d = 0; d < k_max_dims; ++d) {
          const auto along = at[d] - target.begin[d];
          p[axes[d]] = flipped[d] ? source.end[axes[d]] - 1 - along : source.begin[axes[d]] + along;
        }
        into[at] = of[p];
      });
    } else {
      for_all(action.range, [&](const Point& at) {
        auto& own = fields[action.into][at];
        own = changed(own, before[action.from][moved(at, action.offset)], action.factor, at);
      });
    }
  }
  Numbers all;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    auto& numbers = all.emplace_back();
    for_all(program.sets[i].range, [&](const Point& at) { numbers.push_back(fields[i][at]); });
  }
  return all;
}

Numbers by_library(Context& context, const Several& program) {
  std::vector<Block> blocks;
  std::vector<Dataset<double>> sets;
  for (const auto& size : program.blocks) blocks.push_back(context.block("block", size));
  for (std::size_t i = 0; i < program.sets.size(); ++i)
    sets.push_back(blocks[program.sets[i].block].dataset<double>("set", program.halos[i]));
  for (const auto& action : program.actions) {
    const auto factor = action.factor;
    const auto offset = action.offset;
    const auto& block = blocks[program.sets[action.into].block];
    if (action.is_transfer)
      context.transfer(sets[action.transfer.from], action.transfer.from_range, sets[action.transfer.to],
                       action.transfer.to_range, action.transfer.orientation);
    else if (action.into == action.from)
      block.loop(
          "own", action.range,
          [factor](auto u, auto i) {
            u() = changed(u(), u(), factor, {i[0], i[1], i[2]});
          },
          read_write(sets[action.into]), index());
    else
      block.loop(
          "other", action.range,
          [factor, offset](auto u, auto v, auto i) {
            u() = changed(u(), v(offset[0], offset[1], offset[2]), factor, {i[0], i[1], i[2]});
          },
          read_write(sets[action.into]), read(sets[action.from], Stencil(std::vector<Point>{offset})), index());
  }
  Numbers all;
  for (auto& set : sets) all.push_back(set.get(set.range()));
  return all;
}

TEST(Transfers, RandomPrograms_MatchPlainArrays) {
  std::size_t transfers = 0;
  for (int i = 0; i < random_chains() / 4; ++i) {
    RandomMaker maker(static_cast<std::uint64_t>(i));
    const auto program = random_blocks(maker);
    const auto plain = plainly(program);
    for (const auto& way : ways()) {
      SCOPED_TRACE("seed " + std::to_string(i) + ", " + way.options.executor + ", ranks " +
                   std::to_string(way.ranks));
      ASSERT_EQ(in(way, [&](Context& context) { return by_library(context, program); }), plain);
    }
    for (const auto& action : program.actions) transfers += action.is_transfer ? 1 : 0;
  }
  EXPECT_GT(transfers, static_cast<std::size_t>(random_chains() / 4));
}

// --- in which order, and how long chains are

TEST(Transfers, Transfer_EndsChainsOfItsBlocksOnly) {
  Context context({.executor = "serial"});
  const auto a = context.block("a", {8}), b = context.block("b", {8}), c = context.block("c", {8});
  const auto u = a.dataset<double>("u"), v = b.dataset<double>("v"), w = c.dataset<double>("w");
  const auto add = [](const Block& block, const Dataset<double>& to) {
    block.loop(
        "add", block.range(), [](auto to) { to() += 1; }, increment(to));
  };
  for (int i = 0; i < 3; ++i) {
    add(a, u);
    add(b, v);
    add(c, w);
    context.transfer(u, {{0, 2}}, v, {{4, 6}});
  }
  EXPECT_EQ(context.statistics().chains, 0U);
  EXPECT_EQ(v.get(v.range()), (std::vector<double>{3, 3, 3, 3, 3, 3, 3, 3}));
  EXPECT_EQ(w.get(Point{0, 0, 0}), 3);
  EXPECT_EQ(context.statistics().chains, 3U + 3U + 1U);
  EXPECT_EQ(context.statistics().longest_chain, 3U);
  EXPECT_EQ(context.statistics().transfers, 3U);
  EXPECT_EQ(context.statistics().transferred_bytes, 3 * 2 * 8);
}

// --- what is refused

struct RefusedTransfers : testing::Test {
  template <class To>
  std::string transfer(const Range& from, const To& to, const Range& to_range, const Orientation& how = {}) {
    try {
      context.transfer(u, from, to, to_range, how);
    } catch (const std::exception& error) {
      return error.what();
    }
    return "nothing is refused";
  }
  Context context{Options{.executor = "serial", .threads = 1}};
  Block a = context.block("a", {8, 6});
  Block b = context.block("b", {6, 8});
  Dataset<double> u = a.dataset<double>("u");
  Dataset<double> v = b.dataset<double>("v");
};

TEST_F(RefusedTransfers, InvalidTransfer_StatesReason) {
  EXPECT_EQ(transfer({{0, 9}, {0, 1}}, v, {{0, 1}, {0, 9}}, {{1, 0, 2}, {}}),
            "transfer from 'u' to 'v': it reaches 0..9 x 0..1 x 0..1, the dataset 'u' has 0..8 x 0..6 x 0..1");
  EXPECT_EQ(transfer({{0, 6}, {0, 1}}, v, {{0, 6}, {8, 9}}),
            "transfer from 'u' to 'v': it reaches 0..6 x 8..9 x 0..1, the dataset 'v' has 0..6 x 0..8 x 0..1");
  EXPECT_EQ(
      transfer({{0, 5}, {0, 1}}, v, {{0, 1}, {0, 5}}),
      "transfer from 'u' to 'v': 0..5 x 0..1 x 0..1 does not fit to 0..1 x 0..5 x 0..1: axis 0 has 5 points, "
      "axis 0 of the target 1");
  EXPECT_EQ(transfer({{0, 1}, {0, 1}}, v, {{0, 1}, {0, 1}}, {{0, 0, 2}, {}}),
            "transfer from 'u' to 'v': its axes are not 0, 1 and 2, each once");
  EXPECT_EQ(transfer({{0, 4}, {0, 1}}, u, {{3, 7}, {0, 1}}),
            "transfer from 'u' to 'u': it reads points that it writes: choose ranges that do not overlap");
  EXPECT_EQ(transfer({{0, 4}, {0, 1}}, u, {{4, 8}, {0, 1}}), "nothing is refused");
  const auto brief = b.temporary<double>("brief");
  EXPECT_EQ(
      transfer({{0, 4}, {0, 1}}, brief, {{0, 4}, {0, 1}}),
      "transfer from 'u' to 'brief': 'brief' is temporary, and its values do not outlive a chain: declare it as "
      "a dataset");
  Context other(Options{.executor = "serial", .threads = 1});
  const auto far = other.block("far", {8}).dataset<double>("far");
  EXPECT_EQ(transfer({{0, 4}, {0, 1}}, far, {{0, 4}}),
            "transfer(): one of its datasets belongs to another context: pass two datasets of the context that is "
            "called");
  // Empty transfers do nothing.
  EXPECT_EQ(transfer({{0, 0}, {0, 6}}, v, {{0, 0}, {0, 6}}), "nothing is refused");
}
}  // namespace
}  // namespace terrace::stencil::test
