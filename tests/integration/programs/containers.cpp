// Containers by intent (terrace/terrace.hpp). Not linked to Terrace. Prints errors, and ends with "all
// right". Under `terrace run` every block must have a known place, without it none.
#include <cstdint>
#include <cstdio>
#include <list>
#include <map>
#include <memory_resource>
#include <numeric>
#include <string>
#include <terrace/terrace.hpp>
#include <thread>
#include <unordered_map>
#include <vector>

namespace {

int g_wrong = 0;

void expect(bool holds, const char* what) {
  if (holds) return;
  std::printf("not so: %s\n", what);
  ++g_wrong;
}

// Checks a block that is placed by intent, if anything is.
void expect_placed(const void* address, const char* what) {
  expect((terrace::where(address) != nullptr) == terrace::active(), what);
}

template <class T>
using Vector = std::vector<T, terrace::allocator<T>>;

struct alignas(256) Wide {
  double values[32];
};

bool is_aligned(const void* address, std::size_t to) {
  return reinterpret_cast<std::uintptr_t>(address) % to == 0;
}

void vectors() {
  for (const std::size_t count : {1UL, 100UL, 10000UL, 100000UL, 3000000UL}) {
    Vector<double> one(count, 1.5, terrace::allocator<double>("bandwidth"));
    expect(std::accumulate(one.begin(), one.end(), 0.0) == 1.5 * static_cast<double>(count), "sum of a vector");
    expect_placed(one.data(), "where a vector is");
    // A move keeps the data in place, a copy is made by the target's own intent.
    const double* const data = one.data();
    Vector<double> other(terrace::allocator<double>("latency"));
    other = std::move(one);
    expect(other.data() == data && std::string(other.get_allocator().intent()) == "bandwidth", "a moved vector");
    Vector<double> third(terrace::allocator<double>("capacity"));
    third = other;
    expect(third == other && std::string(third.get_allocator().intent()) == "capacity", "a copied vector");
    third.swap(other);
    expect(third.data() == data && std::string(other.get_allocator().intent()) == "capacity", "swapped vectors");
    third.push_back(2);
    expect(third.back() == 2 && third.front() == 1.5, "a vector that grew");
  }
  Vector<Wide> wide(1000, terrace::allocator<Wide>("latency"));
  for (const auto& one : wide) expect(is_aligned(&one, 256), "alignment");
  using Node = std::pair<const int, std::string>;
  std::map<int, std::string, std::less<>, terrace::allocator<Node>> map{terrace::allocator<Node>("latency")};
  for (int i = 0; i < 5000; ++i) map.emplace(i * 7919 % 5000, std::to_string(i));
  expect(map.size() == 5000, "a map");
  for (const auto& node : map) expect_placed(&node, "where a map's node is");
  bool refused = false;
  try {
    (void)terrace::allocator<double>("bandwidth").allocate(~std::size_t{0} / 4);
  } catch (const std::bad_alloc&) {
    refused = true;
  }
  expect(refused, "more than there is");
}

void resources() {
  terrace::memory_resource near("latency");
  terrace::memory_resource same("latency");
  terrace::memory_resource wide("bandwidth");
  expect(near == same && !(near == wide) && !(near == *std::pmr::new_delete_resource()), "equality");
  std::pmr::unordered_map<int, std::pmr::string> map(&near);
  std::pmr::list<std::pmr::string> list(&near);
  for (int i = 0; i < 20000; ++i) {
    const auto text = "a text that is too long for a string's own room " + std::to_string(i);
    map.emplace(i, text);
    list.emplace_back(text);
    if (i % 3 == 0) map.erase(i / 2);
  }
  for (const auto& [key, text] : map) {
    expect(text.ends_with(" " + std::to_string(key)), "a map's text");
    expect_placed(&text, "where a map's node is");
    expect_placed(text.data(), "where a map's text is");
  }
  for (const auto& text : list) expect_placed(&text, "where a list's node is");
  std::pmr::vector<double> large(2000000, 1.0, &wide);
  expect_placed(&large.back(), "where a large vector is");
  std::pmr::list<std::pmr::string> moved(std::move(list), &same);
  expect(moved.size() == 20000, "what one resource allocated another frees");
  for (const std::size_t alignment : {1UL, 8UL, 64UL, 4096UL, 65536UL, 1UL << 21})
    for (const std::size_t size : {0UL, 1UL, 100UL, 5000UL, 3UL << 20}) {
      auto* const block = static_cast<char*>(wide.allocate(size, alignment));
      expect(is_aligned(block, alignment), "a resource's alignment");
      if (size > 0) block[0] = block[size - 1] = 1;
      wide.deallocate(block, size, alignment);
    }
}

// Each thread frees blocks that the previous one has allocated.
void threads() {
  terrace::memory_resource near("latency");
  std::vector<std::pmr::list<std::pmr::string>> lists;
  lists.reserve(4);
  for (int i = 0; i < 4; ++i) lists.emplace_back(&near);
  for (int round = 0; round < 4; ++round) {
    std::vector<std::thread> all;
    all.reserve(4);
    for (std::size_t i = 0; i < 4; ++i)
      all.emplace_back([&list = lists[(i + static_cast<std::size_t>(round)) % 4]] {
        list.clear();
        for (int n = 0; n < 20000; ++n) list.emplace_back("another text that is too long for a string's own room");
      });
    for (auto& thread : all) thread.join();
  }
  for (const auto& list : lists) expect(list.size() == 20000 && list.back().ends_with("room"), "a thread's list");
}

void scopes() {
  const auto active = terrace::active();
  terrace::intent_scope outer("capacity");
  expect((outer.status() == TERRACE_OK) == active, "an intent");
  {
    terrace::intent_scope inner("latency");
    terrace::intent_scope unknown("no such intent");
    expect(unknown.status() == (active ? TERRACE_INVALID : TERRACE_NOT_ACTIVE), "an unknown intent");
    const std::string text(200, 'x');
    expect_placed(text.data(), "where a scope's string is");
  }
  auto* const intent = terrace::detail::calls().current_intent;
  expect(!active || std::string(intent()) == "capacity", "the intent behind a scope");
  std::vector<double> field(1000000);
  {
    terrace::object object("field", field);
    expect(object.status() != TERRACE_INVALID, "an object");
    terrace::loop loop("main");
    for (int i = 0; i < 3; ++i) {
      loop.phase("first");
      for (auto& value : field) value += 1;
      const terrace::phase second("second");
      for (auto& value : field) value *= 2;
    }
  }
  expect(field[77] == 14, "a loop");
  // On a machine without that intent the program gets plain memory, over-aligned if requested.
  struct alignas(128) Wide {
    char bytes[128];
  };
  Vector<Wide> plain(10, terrace::allocator<Wide>("no such intent"));
  plain.resize(1000);
  expect(reinterpret_cast<std::uintptr_t>(plain.data()) % alignof(Wide) == 0, "a container by an unknown intent");
}

}  // namespace

int main() {  // NOLINT(bugprone-exception-escape): what is thrown is wrong
  vectors();
  resources();
  threads();
  scopes();
  std::printf("%s, %s\n", terrace::active() ? "active" : "alone", g_wrong == 0 ? "all right" : "wrong");
  return g_wrong == 0 ? 0 : 1;
}
