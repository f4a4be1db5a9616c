// Compares the object registry and the division of static data with brute force, page by page and byte by byte.
#include "agent/heap/object_registry.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <vector>

#include "agent/heap/static_data.hpp"
#include "core/rounding.hpp"
#include "recording_runtime.hpp"

namespace terrace::agent {
namespace {

using observe::ObjectKind;

// The runtime's view: live objects by id. Fails on inconsistent calls.
class RuntimeView {
 public:
  void operator()(const test::RecordedCall& told) {
    if (told.what == test::RecordedCall::What::removed) {
      ASSERT_EQ(live_.erase(told.id), 1U) << "removed twice, or never added";
    } else if (told.what == test::RecordedCall::What::added) {
      ASSERT_EQ(told.low % k_page, 0U);
      ASSERT_EQ(told.size % k_page, 0U);
      ASSERT_GT(told.size, 0U);
      live_[told.id] = told;
    }
  }
  // Returns the owner of the page. Fails if two objects own it.
  std::string owner(std::uint64_t page) const {
    std::string name;
    for (const auto& [id, object] : live_) {
      if (page < object.low || page >= object.low + object.size) continue;
      EXPECT_EQ(name, "") << "a page of two objects";
      name = object.name;
    }
    return name;
  }
  std::size_t size() const { return live_.size(); }

 private:
  std::map<ObjectId, test::RecordedCall> live_;
};

struct Fixture {
  RuntimeView runtime_view;
  std::unique_ptr<runtime::Runtime> runtime =
      test::make_recording_runtime([this](const test::RecordedCall& told) { runtime_view(told); });
  ObjectRegistry registry{*runtime};
};

TEST(ObjectRegistry, RandomHistory_ComparedWithPageMap_IsEqual) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    Fixture fixture;
    std::mt19937 random(seed);
    constexpr std::uint64_t k_base = 1000 * k_page;
    constexpr std::uint64_t k_pages = 40;
    std::vector<std::string> owners(k_pages);
    for (int step = 0; step < 120; ++step) {
      const auto first = random() % k_pages;
      const auto last = first + 1 + random() % std::min<std::uint64_t>(8, k_pages - first);
      std::string name;
      if (random() % 3 != 0) {
        name = "object " + std::to_string(step);
        fixture.registry.add(name, ObjectKind::mapping, k_base + first * k_page, k_base + last * k_page);
      } else {
        fixture.registry.remove(k_base + first * k_page, k_base + last * k_page);
      }
      for (auto page = first; page < last; ++page) owners[page] = name;
      for (std::uint64_t page = 0; page < k_pages; ++page)
        ASSERT_EQ(fixture.runtime_view.owner(k_base + page * k_page), owners[page])
            << "seed " << seed << " step " << step;
    }
  }
}

TEST(ObjectRegistry, Add_SharedPage_BelongsToTheLargerCover) {
  Fixture fixture;
  auto& registry = fixture.registry;
  // 1.75 pages, starting at a quarter of page 10.
  ASSERT_TRUE(registry.add("a", ObjectKind::named, 10 * k_page + 1024, 12 * k_page));
  EXPECT_EQ(fixture.runtime_view.owner(10 * k_page), "a");
  // Covers 1000 bytes of page 11, which stays with a.
  ASSERT_TRUE(registry.add("b", ObjectKind::named, 12 * k_page - 1000, 14 * k_page - 100));
  EXPECT_EQ(fixture.runtime_view.owner(11 * k_page), "a");
  EXPECT_EQ(fixture.runtime_view.owner(12 * k_page), "b");
  EXPECT_EQ(fixture.runtime_view.owner(13 * k_page), "b");
  // Less than half of an unowned page, and a part of one that b covers more of.
  EXPECT_FALSE(registry.add("c", ObjectKind::named, 14 * k_page - 100, 14 * k_page + 2000));
  EXPECT_EQ(fixture.runtime_view.owner(14 * k_page), "");
  EXPECT_TRUE(registry.forget(12 * k_page - 1000));
  EXPECT_EQ(fixture.runtime_view.owner(12 * k_page), "");
  EXPECT_FALSE(registry.forget(12 * k_page - 1000));
}

TEST(ObjectRegistry, Add_NameOfABlock_TakesAllItsPages) {
  Fixture fixture;
  ASSERT_TRUE(fixture.registry.add_whole("block", ObjectKind::heap, 10 * k_page, 3 * k_page + 100));
  EXPECT_EQ(fixture.runtime_view.owner(13 * k_page), "block") << "the rest of its last page belongs to it";
  ASSERT_TRUE(fixture.registry.add("mine", ObjectKind::named, 10 * k_page, 13 * k_page + 100));
  EXPECT_EQ(fixture.runtime_view.owner(13 * k_page), "mine");
  EXPECT_EQ(fixture.runtime_view.size(), 1U);
}

TEST(ObjectRegistry, Gap_BetweenObjects_IsTheUncoveredRange) {
  Fixture fixture;
  auto& registry = fixture.registry;
  registry.add("a", ObjectKind::mapping, 10 * k_page, 12 * k_page);
  registry.add("b", ObjectKind::mapping, 20 * k_page, 22 * k_page);
  const auto between = registry.gap(15 * k_page, 5 * k_page, 30 * k_page);
  EXPECT_EQ(between.low, 12 * k_page);
  EXPECT_EQ(between.high, 20 * k_page);
  const auto after = registry.gap(25 * k_page, 5 * k_page, 30 * k_page);
  EXPECT_EQ(after.low, 22 * k_page);
  EXPECT_EQ(after.high, 30 * k_page);
  const auto inside = registry.gap(11 * k_page, 5 * k_page, 30 * k_page);
  EXPECT_EQ(inside.low, inside.high);
}

TEST(ObjectRegistry, Add_ReentrantCall_IsIgnored) {
  ObjectRegistry* registry = nullptr;
  int added = 0;
  auto runtime = test::make_recording_runtime([&](const test::RecordedCall& told) {
    if (told.what != test::RecordedCall::What::added) return;
    ++added;
    // Reenters, as the runtime does when it touches unknown memory.
    EXPECT_FALSE(registry->add("again", ObjectKind::mapping, 50 * k_page, 51 * k_page));
    const auto gap = registry->gap(60 * k_page, 50 * k_page, 70 * k_page);
    EXPECT_EQ(gap.low, gap.high);
  });
  ObjectRegistry made(*runtime);
  registry = &made;
  EXPECT_TRUE(made.add("first", ObjectKind::mapping, 10 * k_page, 11 * k_page));
  EXPECT_EQ(added, 1);
}

TEST(StaticData, CutSegment_SharedPage_BelongsToTheLargestCover) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    std::mt19937 random(seed);
    const AddressRange segment{k_page * 100 + random() % k_page, k_page * 160 + random() % k_page};
    std::vector<AddressRange> variables;
    for (auto at = segment.low + random() % 5000;;) {
      const AddressRange variable{at, at + k_page + random() % (random() % 2 ? 3000 : 30000)};
      if (variable.high > segment.high) break;
      variables.push_back(variable);
      at = variable.high + (random() % 2 ? 0 : random() % 9000);
    }
    // Brute force: each page belongs to the variable with most bytes in it, or to the rest. Ties go to the earlier
    // variable, and to a variable rather than the rest.
    const auto pieces = cut_segment(segment, variables);
    std::set<std::size_t> seen;
    auto expected_low = segment.low / k_page * k_page;
    for (const auto& piece : pieces) {
      ASSERT_EQ(piece.pages.low, expected_low) << "no gaps, no overlaps";
      ASSERT_GT(piece.pages.high, piece.pages.low);
      expected_low = piece.pages.high;
      if (piece.variable != StaticPiece::k_rest) {
        ASSERT_TRUE(seen.insert(piece.variable).second) << "a variable in one piece";
      }
      for (auto page = piece.pages.low; page < piece.pages.high; page += k_page) {
        std::uint64_t rest = k_page;
        std::uint64_t most = 0;
        std::uint64_t own = 0;
        for (std::size_t i = 0; i < variables.size(); ++i) {
          std::uint64_t bytes = 0;
          for (auto byte = page; byte < page + k_page; ++byte)
            bytes += byte >= variables[i].low && byte < variables[i].high;
          rest -= bytes;
          most = std::max(most, bytes);
          if (i == piece.variable) own = bytes;
        }
        if (piece.variable == StaticPiece::k_rest)
          ASSERT_GE(rest, most) << "seed " << seed << " page " << page / k_page;
        else
          ASSERT_TRUE(own == most && own >= rest) << "seed " << seed << " page " << page / k_page;
      }
    }
    ASSERT_EQ(expected_low, (segment.high + k_page - 1) / k_page * k_page);
  }
}

}  // namespace
}  // namespace terrace::agent
