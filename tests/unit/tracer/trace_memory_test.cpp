// Compares owners of memory with a table with an entry for each byte.
#include "tracer/trace_memory.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>

namespace terrace::tracer::test {
namespace {

constexpr std::uint64_t k_base = 0x100000;
constexpr std::uint64_t k_bytes = 64 << 10;
constexpr std::uint64_t k_big = 3000;

TraceRecord change_of(TraceKind kind, std::uint64_t address, std::uint64_t size, std::string_view text = {}) {
  TraceRecord record;
  record.kind = kind;
  record.address = address;
  record.size = size;
  record.text = text;
  return record;
}

// Owner of every byte: layers in order, without optimisation.
struct Bytewise {
  struct Byte {
    std::string block;        // name; "" for none
    std::uint64_t begin = 0;  // of its block
    std::string mapping;
  };
  std::vector<Byte> bytes = std::vector<Byte>(k_bytes);
  [[nodiscard]] std::string owner(std::uint64_t at) const {
    if (!bytes[at].block.empty()) return bytes[at].block;
    return bytes[at].mapping.empty() ? "(stack)" : bytes[at].mapping;
  }
};

TEST(TraceMemory, RandomHistory_EqualsTableOfBytes) {
  const TraceProgram nothing(TraceHeader{});
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    std::mt19937_64 random(seed);
    TraceMemory memory(nothing, k_big);
    Bytewise truth;
    int blocks = 0;
    for (int step = 0; step < 300; ++step) {
      const auto low = random() % k_bytes;
      const auto size = 1 + random() % std::min<std::uint64_t>(k_bytes - low, 8000);
      const auto each = [&](auto&& work) {
        for (auto at = low; at < low + size; ++at) work(truth.bytes[at]);
      };
      switch (random() % 4) {
        case 0: {
          const auto name = size < k_big ? "(small blocks)" : "block " + std::to_string(blocks++);
          memory.change(change_of(TraceKind::allocate, k_base + low, size), name);
          each([&](auto& byte) { byte.block = name, byte.begin = low; });
          break;
        }
        case 1: {
          // Blocks are given back whole, by where they begin.
          const auto at = truth.bytes[low].block.empty() ? low : truth.bytes[low].begin;
          bool there = false;
          for (auto i = at; i < k_bytes && !truth.bytes[i].block.empty() && truth.bytes[i].begin == at; ++i) {
            there = true;
            truth.bytes[i].block.clear();
          }
          if (there) memory.change(change_of(TraceKind::release, k_base + at, 0), {});
          break;
        }
        case 2:
          memory.change(change_of(TraceKind::map, k_base + low, size, random() % 2 == 0 ? "/lib/x.so" : ""), {});
          each([&](auto& byte) { byte.block.clear(); });
          {
            const auto name = memory.objects()[memory.find(k_base + low).object].name;
            EXPECT_TRUE(name == "(x.so)" || name == "(mappings)");
            each([&](auto& byte) { byte.mapping = name; });
          }
          break;
        default:
          memory.change(change_of(TraceKind::unmap, k_base + low, size), {});
          each([&](auto& byte) { byte.block.clear(), byte.mapping.clear(); });
      }
      for (int probe = 0; probe < 200; ++probe) {
        const auto at = random() % k_bytes;
        const auto found = memory.find(k_base + at);
        ASSERT_EQ(memory.objects()[found.object].name, truth.owner(at)) << "seed " << seed << " step " << step;
        ASSERT_GE(found.left, 1u);
        // Following bytes have owners of their own.
        const auto last = std::min(at + found.left, k_bytes) - 1;
        const auto there = memory.find(k_base + last);
        ASSERT_EQ(there.object, found.object);
        ASSERT_EQ(there.canonical, found.canonical + (last - at));
      }
    }
  }
}

// Where the system puts a block decides nothing: the caches meet the same lines.
TEST(TraceMemory, DifferentBase_SameCanonicalAddresses) {
  const TraceProgram nothing(TraceHeader{});
  std::optional<std::vector<std::uint64_t>> first;
  for (const std::uint64_t shift : {0, 16, 4096, 1234560}) {
    TraceMemory memory(nothing, 16384);
    std::vector<std::uint64_t> canonical;
    std::uint64_t at = 0x7f0000000000 + shift;
    for (const std::uint64_t size : {16384, 100000, 20000}) {
      memory.change(change_of(TraceKind::allocate, at, size), "block");
      canonical.push_back(memory.find(at).canonical);
      canonical.push_back(memory.find(at + size - 1).canonical);
      at += size + 64 + shift;
    }
    EXPECT_EQ(canonical[0] % 4096, 0u);
    if (!first) first = canonical;
    EXPECT_EQ(*first, canonical);
  }
}

}  // namespace
}  // namespace terrace::tracer::test
