// Implements queries to a B+ tree (Rodinia's b+tree; Fix, Wilkes and Skadron, "Accelerating braided B+ tree
// searches on a GPU with CUDA", A4MMC 2011). One CTA per query, one thread per key of a node: the thread whose key
// interval contains the query determines the child. The state of a query is in global memory. One kernel finds the
// records of a range of keys, the other a single record.
#include <algorithm>
#include <limits>
#include <random>

#include "workloads/gpu/program.hpp"

namespace terrace::gpu_sim {
namespace {

constexpr std::int32_t k_order = 256;  // max children of a node; threads of a CTA
constexpr std::int32_t k_no_record = -1;

// A node is a structure of 517 words: location, indices[257], keys[257], is_leaf, num_keys. indices[i] is the
// child for keys in [keys[i], keys[i + 1]), or the record of keys[i]. The first key is the lowest number, and the
// highest number follows the last key.
constexpr std::int64_t k_indices = 1;
constexpr std::int64_t k_keys = k_indices + k_order + 1;
constexpr std::int64_t k_is_leaf = k_keys + k_order + 1;
constexpr std::int64_t k_num_keys = k_is_leaf + 1;
constexpr std::int64_t k_node_words = k_num_keys + 1;

// A node before it is written: `count` nodes of the level below, or records, from `first` on.
struct Part {
  std::int32_t first;
  std::int32_t count;
  std::int32_t lowest_key;
};
using Level = std::vector<Part>;

// Splits as insertion in ascending order does: a node that overflows keeps half of a full one, and the rest goes
// to the next one.
template <class LowestKey>
Level make_level(std::int32_t entries, std::int32_t most, LowestKey lowest_key) {
  Level level;
  for (std::int32_t first = 0; first < entries; first += level.back().count)
    level.push_back({first, entries - first > most ? k_order / 2 : entries - first, lowest_key(first)});
  return level;
}

// Builds the tree of the keys 0 to `keys` - 1, where record i belongs to key i; the leaves come first.
std::vector<Level> make_levels(std::int32_t keys) {
  std::vector<Level> levels{make_level(keys, k_order - 1, [](std::int32_t key) { return key; })};
  while (levels.back().size() > 1) {
    const auto& below = levels.back();
    const auto lowest_key = [&](std::int32_t node) { return below[static_cast<std::size_t>(node)].lowest_key; };
    levels.push_back(make_level(static_cast<std::int32_t>(below.size()), k_order, lowest_key));
  }
  return levels;
}

// Level by level, the root first.
std::vector<std::int32_t> write_nodes(const std::vector<Level>& levels) {
  std::vector<std::int32_t> words;
  std::int32_t location = 0;
  for (auto level = levels.size(); level-- > 0;) {
    const auto next_level = location + static_cast<std::int32_t>(levels[level].size());
    for (const auto& part : levels[level]) {
      const bool is_leaf = level == 0;
      std::vector<std::int32_t> node(k_node_words, 0);
      const auto keys = node.begin() + k_keys;
      std::fill_n(keys, k_order + 1, std::numeric_limits<std::int32_t>::max());
      keys[0] = std::numeric_limits<std::int32_t>::min();
      // A leaf's first index is unused; an inner node's first child has the lowest number as its key.
      const auto skipped = is_leaf ? 1 : 0;
      for (std::int32_t i = 0; i < part.count; ++i) {
        const auto entry = part.first + i;
        node[static_cast<std::size_t>(k_indices + skipped + i)] = is_leaf ? entry : next_level + entry;
        if (is_leaf) keys[1 + i] = entry;
        if (!is_leaf && i > 0) keys[i] = levels[level - 1][static_cast<std::size_t>(entry)].lowest_key;
      }
      const auto number_of_keys = skipped + part.count + 1;
      node[static_cast<std::size_t>(k_indices + number_of_keys - 1)] = location + 1;
      node[0] = location++;
      node[k_is_leaf] = is_leaf ? 1 : 0;
      node[k_num_keys] = number_of_keys;
      words.insert(words.end(), node.begin(), node.end());
    }
  }
  return words;
}

struct Tree {
  Tree(Device& device, const std::vector<Level>& levels, const std::vector<std::int32_t>& words)
      : nodes(device.array<std::int32_t>("knodes", words.size())),
        count(static_cast<std::int64_t>(words.size()) / k_node_words),
        height(static_cast<std::int32_t>(levels.size()) - 1) {
    std::copy(words.begin(), words.end(), nodes.host().begin());
  }

  Array<std::int32_t> nodes;
  std::int64_t count;
  std::int32_t height;  // levels below the root
};

// Positions of the searches for one key each.
struct Searches {
  Searches(Device& device, const std::string& current_name, const std::string& offset_name,
           const std::string& wanted_name, const std::vector<std::int32_t>& keys)
      : current(device.array<std::int64_t>(current_name, keys.size())),
        offset(device.array<std::int64_t>(offset_name, keys.size())),
        wanted(device.array<std::int32_t>(wanted_name, keys.size())) {
    std::copy(keys.begin(), keys.end(), wanted.host().begin());
  }

  Array<std::int64_t> current;  // node
  Array<std::int64_t> offset;   // node on the next level
  Array<std::int32_t> wanted;
};

// Returns the word of a node's array that belongs to the thread.
Value<std::int64_t> own_word(Thread& t, const Value<std::int64_t>& node, std::int64_t array) {
  return fma(node, k_node_words, t.thread()) + array;
}

// Descends one level. `where` distinguishes calls in the same loop.
void descend(Thread& t, const Tree& tree, const Searches& searches,
             Thread::Where where = Thread::Where::current()) {
  const auto call = t.loop(where);
  const auto query = t.block();
  const auto current = t.load(searches.current, query);
  const auto own_key = own_word(t, current, k_keys);
  const auto key = t.load(tree.nodes, own_key);
  const auto wanted = t.load(searches.wanted, query);
  if (key > wanted) return;
  if (t.load(tree.nodes, own_key + 1) <= wanted) return;
  const auto next = t.load(tree.nodes, own_word(t, current, k_indices));
  if (next < tree.count) t.store(searches.offset, query, next);
}

// After all threads have found the child, the first of them stores it.
void arrive(Thread& t, const Searches& searches, Thread::Where where = Thread::Where::current()) {
  const auto call = t.loop(where);
  const auto next = t.load(searches.offset, t.block());
  t.store(searches.current, t.block(), next);
}

void find(Device& device, const Tree& tree, const Searches& searches, const Array<std::int32_t>& records,
          const Array<std::int32_t>& answers) {
  const auto queries = static_cast<std::int32_t>(answers.size());
  device.launch({"btree.findK", queries, k_order, 18}, [&](Thread& t) -> ThreadRun {
    const auto query = t.block();
    for (auto level = t.own(0); level < tree.height; level += 1) {
      descend(t, tree, searches);
      co_await t.barrier();
      if (t.thread() == 0) arrive(t, searches);
      co_await t.barrier();
    }
    const auto leaf = t.load(searches.current, query);
    const auto key = t.load(tree.nodes, own_word(t, leaf, k_keys));
    if (key == t.load(searches.wanted, query)) {
      const auto record = t.load(tree.nodes, own_word(t, leaf, k_indices));
      const auto value = t.load(records, record);
      t.store(answers, query, value);
    }
  });
}

void find_range(Device& device, const Tree& tree, const Searches& starts, const Searches& ends,
                const Array<std::int32_t>& first_records, const Array<std::int32_t>& lengths) {
  const auto queries = static_cast<std::int32_t>(lengths.size());
  device.launch({"btree.findRangeK", queries, k_order, 22}, [&](Thread& t) -> ThreadRun {
    const auto query = t.block();
    for (auto level = t.own(0); level < tree.height; level += 1) {
      descend(t, tree, starts);
      descend(t, tree, ends);
      co_await t.barrier();
      if (t.thread() == 0) {
        arrive(t, starts);
        arrive(t, ends);
      }
      co_await t.barrier();
    }
    const auto first_leaf = t.load(starts.current, query);
    const auto first_key = t.load(tree.nodes, own_word(t, first_leaf, k_keys));
    if (first_key == t.load(starts.wanted, query)) {
      const auto record = t.load(tree.nodes, own_word(t, first_leaf, k_indices));
      t.store(first_records, query, record);
    }
    co_await t.barrier();
    const auto last_leaf = t.load(ends.current, query);
    const auto last_key = t.load(tree.nodes, own_word(t, last_leaf, k_keys));
    if (last_key == t.load(ends.wanted, query)) {
      const auto record = t.load(tree.nodes, own_word(t, last_leaf, k_indices));
      const auto first = t.load(first_records, query);
      t.store(lengths, query, record - first + 1);
    }
  });
}

class BTree final : public GpuProgram {
 public:
  [[nodiscard]] std::string_view name() const override { return "btree"; }
  [[nodiscard]] std::string_view title() const override { return "Queries to a B+ tree"; }
  [[nodiscard]] std::string_view source() const override { return "Rodinia's b+tree: Fix et al., A4MMC 2011"; }
  // Keys, range queries, keys of a range, queries for one key.
  [[nodiscard]] const std::vector<ProgramSize>& sizes() const override {
    static const std::vector<ProgramSize> sizes{
        {"test", {40007, 101, 300, 401}, ""},
        {"paper", {1000000, 6000, 3000, 10000}, "Rodinia's run script: one million keys, j 6000 3000, k 10000"}};
    return sizes;
  }

  [[nodiscard]] std::string run(Device& device, const std::vector<std::int64_t>& numbers) const override {
    const auto keys = static_cast<std::int32_t>(numbers[0]);
    std::mt19937 random(17);
    const auto random_key = [&] { return static_cast<std::int32_t>(random() % static_cast<std::uint32_t>(keys)); };
    // Rodinia's records equal the keys; these do not, so that a key in the place of a record is detected.
    std::vector<std::int32_t> values(static_cast<std::size_t>(keys));
    for (auto& value : values) value = static_cast<std::int32_t>(random() >> 1);
    const auto levels = make_levels(keys);
    // Rodinia allocates the nodes for each command and frees them after it, so both kernels have them at the same
    // place.
    const Tree tree(device, levels, write_nodes(levels));
    Comparison comparison;

    std::vector<std::int32_t> starts(static_cast<std::size_t>(numbers[1]));
    std::vector<std::int32_t> ends;
    for (auto& start : starts) {
      start = random_key();
      auto end = start + static_cast<std::int32_t>(numbers[2]);
      if (end >= keys) {
        start -= end - keys;
        end = keys - 1;
      }
      ends.push_back(end);
    }
    const Searches from(device, "j.currKnode", "j.offset", "j.start", starts);
    const Searches to(device, "j.lastKnode", "j.offset_2", "j.end", ends);
    auto first_records = device.array<std::int32_t>("j.recstart", starts.size());
    auto lengths = device.array<std::int32_t>("j.reclength", starts.size());
    find_range(device, tree, from, to, first_records, lengths);
    for (std::size_t i = 0; i < starts.size(); ++i) {
      comparison.add(first_records.host()[i], starts[i]);
      comparison.add(lengths.host()[i], ends[i] - starts[i] + 1);
    }

    std::vector<std::int32_t> wanted(static_cast<std::size_t>(numbers[3]));
    for (auto& key : wanted) key = random_key();
    auto records = device.array<std::int32_t>("k.records", values.size());
    std::copy(values.begin(), values.end(), records.host().begin());
    const Searches searches(device, "k.currKnode", "k.offset", "k.keys", wanted);
    auto answers = device.array<std::int32_t>("k.ans", wanted.size());
    std::fill(answers.host().begin(), answers.host().end(), k_no_record);
    find(device, tree, searches, records, answers);
    for (std::size_t i = 0; i < wanted.size(); ++i)
      comparison.add(answers.host()[i], values[static_cast<std::size_t>(wanted[i])]);
    return comparison.verdict("records, and firsts and lengths of ranges,", 0);
  }
};

}  // namespace

const GpuProgram& btree_program() {
  static const BTree program;
  return program;
}

}  // namespace terrace::gpu_sim
