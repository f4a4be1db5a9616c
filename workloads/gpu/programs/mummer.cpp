// Implements sequence matching: finds where short strings of nucleotides occur in a long one, by its suffix tree
// (MUMmerGPU 1.0; Schatz, Trapnell, Delcher and Varshney, "High-throughput sequence alignment using graphics
// processing units", BMC Bioinformatics 8, 2007). One thread per query descends the tree as long as the query
// matches and stores the position. It then follows the suffix link of the last node to match the query from its
// next character on, without comparing characters that are known to match.
//
// MUMmerGPU has the tree and the reference in two-dimensional textures. Here they are contiguous in global memory,
// the nodes in level order, which is MUMmerGPU's for trees as low as these. MUMmerGPU fetches the 16 bytes of a
// node's children at once; here a thread loads the 4 bytes that it uses, of the same sector.
#include <algorithm>
#include <array>
#include <random>
#include <string>

#include "workloads/gpu/program.hpp"

namespace terrace::gpu_sim {
namespace {

constexpr std::int32_t k_threads = 256;
constexpr std::size_t k_query_length = 25;
constexpr std::int32_t k_min = 20;  // characters of a match, MUMmer's default
// A query in memory has a character before it and a zero behind it, as in MUMmerGPU.
constexpr std::size_t k_query_bytes = k_query_length + 2;
constexpr std::size_t k_starts = k_query_length - k_min + 1;  // positions in a query where a match may begin
constexpr std::string_view k_letters = "ACGT$";               // $: the reference's end
constexpr std::int32_t k_none = 0;
constexpr std::int32_t k_root = 1;

// Builds the tree with Ukkonen's algorithm ("On-line construction of suffix trees", Algorithmica 14, 1995).
class SuffixTree {
 public:
  struct Node {
    std::int32_t start;  // of the characters on the edge to it
    std::int32_t end;    // after the last of them
    std::int32_t link = k_none;
    std::int32_t parent = k_none;
    std::int32_t parent_depth = 0;  // characters from the root to the parent
    std::array<std::int32_t, k_letters.size()> children{};
  };

  // Takes a text that ends with $.
  explicit SuffixTree(const std::string& text) : text_(text), nodes_(2, Node{0, 0}) {
    active_ = k_root;
    for (std::int32_t at = 0; at < size(); ++at) extend(at);
    nodes_[k_root].link = k_root;
    number_by_level();
  }
  // Node 0 is unused, node 1 the root.
  [[nodiscard]] const std::vector<Node>& nodes() const { return nodes_; }

 private:
  [[nodiscard]] std::int32_t size() const { return static_cast<std::int32_t>(text_.size()); }
  Node& node(std::int32_t i) { return nodes_[static_cast<std::size_t>(i)]; }
  [[nodiscard]] std::size_t letter(std::int32_t at) const {
    return k_letters.find(text_[static_cast<std::size_t>(at)]);
  }
  std::int32_t add(std::int32_t start, std::int32_t end) {
    nodes_.push_back({start, end});
    return static_cast<std::int32_t>(nodes_.size() - 1);
  }

  // Adds the character `at`: all suffixes up to it are then in the tree, explicitly or as prefixes of others.
  void extend(std::int32_t at) {
    std::int32_t unlinked = k_none;  // the inner node that this step has made last
    const auto link_to = [&](std::int32_t target) {
      if (unlinked != k_none) node(unlinked).link = target;
      unlinked = target;
    };
    for (++waiting_; waiting_ > 0;) {
      if (active_length_ == 0) active_edge_ = at;
      const auto next = node(active_).children[letter(active_edge_)];
      if (next == k_none) {
        const auto leaf = add(at, size());
        node(active_).children[letter(active_edge_)] = leaf;
        link_to(active_);
      } else {
        const auto edge = std::min(node(next).end, at + 1) - node(next).start;
        if (active_length_ >= edge) {
          active_ = next;
          active_edge_ += edge;
          active_length_ -= edge;
          continue;
        }
        const auto middle = node(next).start + active_length_;
        if (letter(middle) == letter(at)) {
          ++active_length_;
          link_to(active_);
          return;
        }
        const auto inner = add(node(next).start, middle);
        const auto leaf = add(at, size());
        node(active_).children[letter(active_edge_)] = inner;
        node(inner).children[letter(at)] = leaf;
        node(inner).children[letter(middle)] = next;
        node(next).start = middle;
        link_to(inner);
      }
      --waiting_;
      if (active_ == k_root && active_length_ > 0) {
        --active_length_;
        active_edge_ = at - waiting_ + 1;
      } else {
        active_ = std::max(node(active_).link, k_root);
      }
    }
  }

  void number_by_level() {
    std::vector<std::int32_t> order{k_none, k_root};  // by new number
    std::vector<std::int32_t> number(nodes_.size(), k_none);
    for (std::size_t i = k_root; i < order.size(); ++i) {
      number[static_cast<std::size_t>(order[i])] = static_cast<std::int32_t>(i);
      for (const auto child : node(order[i]).children)
        if (child != k_none) order.push_back(child);
    }
    std::vector<Node> numbered;
    for (const auto old : order) numbered.push_back(node(old));
    nodes_ = std::move(numbered);
    for (std::size_t i = k_root; i < nodes_.size(); ++i) {
      auto& parent = nodes_[i];
      parent.link = number[static_cast<std::size_t>(parent.link)];
      for (auto& child : parent.children) {
        if (child == k_none) continue;
        child = number[static_cast<std::size_t>(child)];
        node(child).parent = static_cast<std::int32_t>(i);
        node(child).parent_depth = parent.parent_depth + parent.end - parent.start;
      }
    }
  }

  const std::string& text_;
  std::vector<Node> nodes_;
  // End of the longest suffix that is in the tree only as a prefix of others: on the edge from the active node
  // that begins with the character at active_edge_.
  std::int32_t active_ = k_root;
  std::int32_t active_edge_ = 0;
  std::int32_t active_length_ = 0;
  std::int32_t waiting_ = 0;  // number of such suffixes
};

// Arrays as MUMmerGPU allocates them.
struct Arrays {
  Arrays(Device& device, const std::string& text, const std::vector<SuffixTree::Node>& tree, std::size_t count)
      : nodes(device.array<std::uint64_t>("nodes", 2 * tree.size())),
        children(device.array<std::int32_t>("children", 4 * tree.size())),
        reference(device.array<char>("reference", text.size())),
        queries(device.array<char>("queries", k_query_bytes * count)),
        query_addresses(device.array<std::int32_t>("queryAddrs", count)),
        query_lengths(device.array<std::int32_t>("queryLengths", count)),
        matches(device.array<std::int32_t>("match_coords", 2 * k_starts * count)) {
    const auto words = [](std::int32_t low, std::int32_t high) {
      return (static_cast<std::uint64_t>(high) << 32) | static_cast<std::uint32_t>(low);  // none is negative
    };
    for (std::size_t i = 0; i < tree.size(); ++i) {
      nodes.host()[2 * i] = words(tree[i].start, tree[i].end);
      nodes.host()[2 * i + 1] = words(tree[i].children[4], tree[i].link);
      for (std::size_t letter = 0; letter < 4; ++letter)
        children.host()[4 * i + letter] = tree[i].children[letter];
    }
    std::copy(text.begin(), text.end(), reference.host().begin());
  }

  // 16 bytes a node: start and end of its edge, its child for $, and its suffix link.
  Array<std::uint64_t> nodes;
  Array<std::int32_t> children;  // 16 bytes a node: for A, C, G and T
  Array<char> reference;
  Array<char> queries;
  Array<std::int32_t> query_addresses;
  Array<std::int32_t> query_lengths;
  // 8 bytes per position in a query: the last node, and how many characters of its edge match, 0 for all.
  Array<std::int32_t> matches;
};

std::int32_t child_place(const Value<char>& letter) {
  if (letter == 'A') return 0;
  if (letter == 'C') return 1;
  return letter == 'G' ? 2 : 3;
}

void match(Device& device, const Arrays& arrays, std::int32_t count) {
  device.launch({"mummergpu", (count + k_threads - 1) / k_threads, k_threads, 24}, [&](Thread& t) {
    const auto query = t.index();
    if (query >= count) return;
    const auto length = t.load(arrays.query_lengths, query);
    const auto address = t.load(arrays.query_addresses, query);
    auto result = (address - query * (k_min + 1)) * 2;
    auto node = t.own(k_root);
    auto depth = t.own(0);  // of it: these characters match
    auto known = t.own(0);  // matching characters after them, below the node
    for (const auto start : t.range(0, length - (k_min - 1))) {
      if (depth < 0) {
        node = t.own(k_root);
        depth = known = t.own(0);
      }
      const auto first = address + 1 + start;
      auto matched = depth;
      auto on_edge = t.own(0);  // how many of the matched characters are on the edge to the node
      auto above = node;
      auto letter = t.load(arrays.queries, first + matched);
      bool is_mismatch = false;
      for (auto walk = t.loop(); walk.iterate(!is_mismatch && letter != 0);) {
        const auto child = t.load(arrays.children, node * 4 + child_place(letter));
        above = node;
        on_edge = t.own(0);
        if (child == k_none) break;
        node = child;
        const auto edge = t.load(arrays.nodes, node * 2);
        const Value<std::int32_t> edge_start = edge;
        const Value<std::int32_t> edge_length = Value<std::int32_t>(edge >> 32) - edge_start;
        if (known > 0) {
          on_edge = min(known, edge_length);
          known -= on_edge;
        } else {
          on_edge = t.own(1);  // the letter that the child is for
        }
        matched += on_edge;
        letter = t.load(arrays.queries, first + matched);
        for (auto along = t.loop(); along.iterate(on_edge < edge_length && letter != 0);) {
          is_mismatch = t.load(arrays.reference, edge_start + on_edge) != letter;
          if (is_mismatch) break;
          matched += 1;
          on_edge += 1;
          letter = t.load(arrays.queries, first + matched);
        }
      }
      if (matched >= k_min) {
        t.store(arrays.matches, result, node);
        t.store(arrays.matches, result + 1, on_edge);
      }
      result += 2;
      depth = matched - on_edge - 1;
      known = on_edge;
      node = t.load(arrays.nodes, above * 2 + 1) >> 32;
    }
  });
}

// Returns the length of the longest prefix of `pattern` in the text, by trying every position.
std::size_t longest_match(const std::string& text, std::string_view pattern) {
  std::size_t longest = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    std::size_t length = 0;
    while (length < pattern.size() && text[at + length] == pattern[length]) ++length;
    longest = std::max(longest, length);
  }
  return longest;
}

class Mummer final : public GpuProgram {
 public:
  [[nodiscard]] std::string_view name() const override { return "mummer"; }
  [[nodiscard]] std::string_view title() const override { return "Exact string matching by suffix tree"; }
  [[nodiscard]] std::string_view source() const override {
    return "MUMmerGPU: Schatz et al., BMC Bioinformatics 8, 2007";
  }
  // Numbers: characters of the reference, queries, and one of how many queries is compared with plain search.
  [[nodiscard]] const std::vector<ProgramSize>& sizes() const override {
    static const std::vector<ProgramSize> sizes{
        {"test", {5000, 600, 1}, ""},
        {"paper", {1000000, 50000, 1000}, "50000 queries of 25 characters, a random reference of one million"}};
    return sizes;
  }

  [[nodiscard]] std::string run(Device& device, const std::vector<std::int64_t>& numbers) const override {
    const auto count = static_cast<std::size_t>(numbers[1]);
    std::mt19937 random(19);
    const auto random_letter = [&] { return k_letters[random() % 4]; };
    std::string text(static_cast<std::size_t>(numbers[0]), ' ');
    for (auto& letter : text) letter = random_letter();
    text += k_letters.back();
    const SuffixTree tree(text);
    const Arrays arrays(device, text, tree.nodes(), count);
    std::vector<std::string> queries;
    for (std::size_t i = 0; i < count; ++i) {
      auto query = text.substr(random() % (text.size() - k_query_length), k_query_length);
      for (auto& letter : query)
        if (random() % 40 == 0) letter = random_letter();
      arrays.query_addresses.host()[i] = static_cast<std::int32_t>(i * k_query_bytes);
      arrays.query_lengths.host()[i] = k_query_length;
      std::copy(query.begin(), query.end(), arrays.queries.host().begin() + std::ptrdiff_t(i * k_query_bytes + 1));
      queries.push_back(std::move(query));
    }
    match(device, arrays, static_cast<std::int32_t>(count));

    Comparison comparison;
    const auto every = static_cast<std::size_t>(numbers[2]);
    for (std::size_t i = 0; i < k_starts * count; ++i) {
      const auto pattern = std::string_view(queries[i / k_starts]).substr(i % k_starts);
      const auto found = found_match(text, tree, arrays, i);
      // For all queries: what was found is a match.
      comparison.add(found == pattern.substr(0, found.size()), 1);
      if (i / k_starts % every != 0) continue;
      const auto longest = longest_match(text, pattern);
      comparison.add(static_cast<double>(found.size()), longest < k_min ? 0 : static_cast<double>(longest));
    }
    return comparison.verdict("matches and lengths of matches", 0);
  }

 private:
  // Returns the part of the text that matches at a position of a query; empty if no match is long enough.
  static std::string_view found_match(std::string_view text, const SuffixTree& tree, const Arrays& arrays,
                                      std::size_t i) {
    const auto& node = tree.nodes()[static_cast<std::size_t>(arrays.matches.host()[2 * i])];
    const auto on_edge = arrays.matches.host()[2 * i + 1];
    const auto length = node.parent_depth + (on_edge == 0 ? node.end - node.start : on_edge);
    return text.substr(static_cast<std::size_t>(node.start - node.parent_depth), static_cast<std::size_t>(length));
  }
};

}  // namespace

const GpuProgram& mummer_program() {
  static const Mummer program;
  return program;
}

}  // namespace terrace::gpu_sim
