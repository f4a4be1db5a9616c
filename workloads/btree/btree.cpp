// Look-ups in a B+-tree. Source: Bayer and McCreight, "Organization and maintenance of large ordered indexes",
// Acta Informatica 1, 1972; with all values in the leaves, Comer, "The ubiquitous B-tree", ACM Computing Surveys
// 11(2), 1979. Nodes are 256 bytes: the tree is loaded from sorted records, its nodes full but for the last ones.
//
// The keys are the even numbers; look-ups draw uniformly from the even and the odd ones, so that half of them find
// nothing. What they must find follows from the numbers drawn alone.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "common/clock.hpp"
#include "common/markers.hpp"
#include "common/options.hpp"
#include "common/random.hpp"
#include "common/threads.hpp"
#include "common/verdict.hpp"

namespace btree {

constexpr std::uint64_t k_keys = 15;

/// keys[i] is the least key below children[i + 1].
struct alignas(256) Inner {
  std::uint64_t count;  // of keys; there is one child more
  std::uint64_t keys[k_keys];
  const void* children[k_keys + 1];
};

struct alignas(256) Leaf {
  std::uint64_t count;
  std::uint64_t keys[k_keys];
  std::uint64_t values[k_keys];
  const Leaf* next;  // by key, for scans
};
static_assert(sizeof(Inner) == 256 && sizeof(Leaf) == 256);

struct Settings {
  std::uint64_t records = 1 << 20;
  std::uint64_t lookups = 1 << 19;
  std::uint64_t iterations = 3;
  std::uint64_t seed = 1;
  std::uint64_t threads = 1;
};

std::uint64_t key_of(std::uint64_t record) { return 2 * record; }
std::uint64_t value_of(std::uint64_t key) { return 3 * key + 1; }

/// The key that look-up `number` of all asks for.
std::uint64_t wanted(const Settings& settings, std::uint64_t number) {
  return workloads::below(workloads::random_at(settings.seed, number), 2 * settings.records);
}

/// A node while its parents are made: itself, and the least key below it.
struct Child {
  std::uint64_t least;
  const void* node;
};

class Tree {
 public:
  explicit Tree(std::uint64_t records) {
    std::vector<Child> level = load_leaves(records);
    for (; level.size() > 1; ++height_) level = load_inner(level);
    root_ = level.front().node;
  }

  /// The value of `key`, or null.
  const std::uint64_t* find(std::uint64_t key) const {
    const void* node = root_;
    for (std::uint64_t depth = 0; depth < height_; ++depth) {
      const auto* inner = static_cast<const Inner*>(node);
      std::uint64_t child = 0;
      while (child < inner->count && inner->keys[child] <= key) ++child;
      node = inner->children[child];
    }
    const auto* leaf = static_cast<const Leaf*>(node);
    for (std::uint64_t i = 0; i < leaf->count; ++i) {
      if (leaf->keys[i] == key) return &leaf->values[i];
    }
    return nullptr;
  }

  /// Levels above the leaves.
  std::uint64_t height() const { return height_; }
  std::size_t leaves() const { return leaves_.size(); }
  std::size_t inner_nodes() const {
    std::size_t nodes = 0;
    for (const auto& level : inner_) nodes += level.size();
    return nodes;
  }

 private:
  std::vector<Child> load_leaves(std::uint64_t records) {
    leaves_.resize((records + k_keys - 1) / k_keys);
    std::vector<Child> level;
    level.reserve(leaves_.size());
    std::uint64_t record = 0;
    for (Leaf& leaf : leaves_) {
      leaf.count = std::min(k_keys, records - record);
      for (std::uint64_t i = 0; i < leaf.count; ++i, ++record) {
        leaf.keys[i] = key_of(record);
        leaf.values[i] = value_of(leaf.keys[i]);
      }
      leaf.next = record < records ? &leaf + 1 : nullptr;
      level.push_back({leaf.keys[0], &leaf});
    }
    return level;
  }

  std::vector<Child> load_inner(const std::vector<Child>& below) {
    // The last parent may get a single child and no key.
    std::vector<Inner>& nodes = inner_.emplace_back((below.size() + k_keys) / (k_keys + 1));
    std::vector<Child> level;
    level.reserve(nodes.size());
    auto child = below.begin();
    for (Inner& node : nodes) {
      level.push_back({child->least, &node});
      node.children[0] = (child++)->node;
      for (; node.count < k_keys && child != below.end(); ++child) {
        node.keys[node.count++] = child->least;
        node.children[node.count] = child->node;
      }
    }
    return level;
  }

  std::vector<Leaf> leaves_;
  std::vector<std::vector<Inner>> inner_;  // by level; moving a level does not move its nodes
  const void* root_ = nullptr;
  std::uint64_t height_ = 0;
};

struct Result {
  std::uint64_t found = 0;
  std::uint64_t sum = 0;  // of the values, modulo 2^64

  bool operator==(const Result&) const = default;
};

/// Look-ups `first` to `first + lookups - 1`. Never inlined, so that it keeps its name at run time.
[[gnu::noinline]] Result look_up(const Settings& settings, const Tree& tree, std::uint64_t first) {
  std::uint64_t found = 0;
  std::uint64_t sum = 0;
#pragma omp parallel for schedule(static) reduction(+ : found, sum)
  for (std::uint64_t i = 0; i < settings.lookups; ++i) {
    const std::uint64_t* const value = tree.find(wanted(settings, first + i));
    if (value == nullptr) continue;
    ++found;
    sum += *value;
  }
  return {found, sum};
}

/// Returns the expected result of all look-ups, computed from the keys alone.
Result expected(const Settings& settings) {
  Result result;
  for (std::uint64_t i = 0; i < settings.iterations * settings.lookups; ++i) {
    const std::uint64_t key = wanted(settings, i);
    if (key % 2 != 0) continue;
    ++result.found;
    result.sum += value_of(key);
  }
  return result;
}

int run(const Settings& settings) {
  const Tree tree(settings.records);

  Result all;
  const double begin = workloads::seconds();
  workloads::loop_begin("main");
  for (std::uint64_t iteration = 0; iteration < settings.iterations; ++iteration) {
    workloads::phase("lookup");
    const Result result = look_up(settings, tree, iteration * settings.lookups);
    all.found += result.found;
    all.sum += result.sum;
  }
  workloads::loop_end();
  const double end = workloads::seconds();

  const auto lookups = static_cast<double>(settings.lookups) * static_cast<double>(settings.iterations);
  const Result right = expected(settings);
  const bool verified = all == right;
  std::printf("B+-tree: %llu records, %zu leaves and %zu inner nodes of %zu bytes, %llu levels above the leaves\n",
              static_cast<unsigned long long>(settings.records), tree.leaves(), tree.inner_nodes(), sizeof(Leaf),
              static_cast<unsigned long long>(tree.height()));
  std::printf("Time %14.9f s %14.0f look-ups a second\n", end - begin, lookups / (end - begin));
  std::printf("Found %llu of %.0f, expected %llu; sum %llu, expected %llu\n",
              static_cast<unsigned long long>(all.found), lookups, static_cast<unsigned long long>(right.found),
              static_cast<unsigned long long>(all.sum), static_cast<unsigned long long>(right.sum));
  return workloads::verdict(verified);
}

}  // namespace btree

int main(int argc, char** argv) {
  btree::Settings settings;
  workloads::Options options("btree", "random look-ups in a B+-tree");
  options.count("--records", &settings.records, "records in the tree, up to 2^31");
  options.count("--lookups", &settings.lookups, "look-ups per iteration");
  options.count("--iterations", &settings.iterations, "number of iterations");
  options.count("--seed", &settings.seed, "seed of the look-ups");
  workloads::declare_threads(options, &settings.threads);
  options.parse(argc, argv);
  workloads::use_threads(options, settings.threads);
  if (settings.records > std::uint64_t{1} << 31) options.fail("--records: at most 2^31");
  return btree::run(settings);
}
