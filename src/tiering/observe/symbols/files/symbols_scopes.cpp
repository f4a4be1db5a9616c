// SPDX-License-Identifier: Apache-2.0
// Flattens nested scopes of code into one sorted table, for symbol files. See symbols_scopes.hpp.
#include "observe/symbols/files/symbols_scopes.hpp"

#include <algorithm>

namespace terrace::observe {

namespace {

constexpr std::uint32_t k_lost = 1U << 31U;  // internal flag: the scope was lost

// Returns the site of code in a scope: the innermost scope that is no allocator, and the line in it.
SymbolSite resolve(const std::vector<CodeScope>& scopes, int scope, const LineRow& row, std::uint64_t low) {
  auto file = row.file;
  auto line = row.line;
  const auto* at = &scopes[static_cast<std::size_t>(scope)];
  while (at->allocator && at->parent >= 0) {
    file = at->call_file;
    line = at->call_line;
    at = &scopes[static_cast<std::size_t>(at->parent)];
  }
  const bool lost = row.library && at == &scopes[static_cast<std::size_t>(scope)];
  return {low, at->name, file, line, at->allocator ? k_symbol_allocator : lost ? k_lost : 0};
}

// Sets the lines of lost sites, in iteration order, to that of the previous site of the same function that is not
// lost.
template <class Iterator>
void find_lost(Iterator begin, Iterator end) {
  const SymbolSite* known = nullptr;
  for (auto at = begin; at != end; ++at) {
    if ((at->flags & k_symbol_no_code) != 0) known = nullptr;
    if ((at->flags & k_lost) == 0) {
      if ((at->flags & k_symbol_allocator) == 0) known = &*at;
    } else if (known && known->function == at->function) {
      at->file = known->file;
      at->line = known->line;
      at->flags &= ~k_lost;
    }
  }
}

class SiteTable {
 public:
  void add(const SymbolSite& site) {
    if (!rows_.empty()) {
      const auto& last = rows_.back();
      const bool same = last.flags == site.flags &&
                        ((site.flags & k_symbol_no_code) != 0 ||
                         (last.function == site.function && last.file == site.file && last.line == site.line));
      if (same) return;
      if (last.low == site.low) rows_.pop_back();
    }
    rows_.push_back(site);
  }
  std::vector<SymbolSite> take() { return std::move(rows_); }

 private:
  std::vector<SymbolSite> rows_;
};

}  // namespace

std::vector<SymbolSite> flatten_scopes(const std::vector<CodeScope>& scopes, std::vector<ScopeRange> ranges,
                                       std::vector<LineRow> lines) {
  const auto depth = [&](const ScopeRange& range) { return scopes[static_cast<std::size_t>(range.scope)].depth; };
  std::ranges::stable_sort(ranges, [&](const auto& a, const auto& b) {
    if (a.low != b.low) return a.low < b.low;
    return depth(a) < depth(b);
  });
  std::ranges::stable_sort(lines, [](const auto& a, const auto& b) {
    // Where one range ends and another begins at an address, the begin counts.
    return a.address != b.address ? a.address < b.address : a.end && !b.end;
  });

  SiteTable table;
  const auto emit = [&](std::uint64_t low, std::uint64_t high, int scope) {
    for (auto at = low; at < high;) {
      const auto next =
          std::upper_bound(lines.begin(), lines.end(), at,
                           [](std::uint64_t address, const LineRow& row) { return address < row.address; });
      // The last of several rows at one address counts.
      if (next == lines.begin() || (next - 1)->end)
        table.add({at, 0, 0, 0, k_symbol_no_code});
      else
        table.add(resolve(scopes, scope, *(next - 1), at));
      at = next == lines.end() ? high : std::min(high, next->address);
    }
  };

  struct Open {
    std::uint64_t high;
    int scope;
  };
  std::vector<Open> open;
  std::uint64_t cursor = 0;
  const auto close_until = [&](std::uint64_t address) {
    while (!open.empty() && open.back().high <= address) {
      if (cursor < open.back().high) emit(cursor, open.back().high, open.back().scope);
      cursor = std::max(cursor, open.back().high);
      open.pop_back();
      if (open.empty()) table.add({cursor, 0, 0, 0, k_symbol_no_code});
    }
    if (!open.empty() && cursor < address) emit(cursor, address, open.back().scope);
    cursor = std::max(cursor, address);
  };
  for (const auto& range : ranges) {
    close_until(range.low);
    const auto high = open.empty() ? range.high : std::min(range.high, open.back().high);
    if (high > range.low) open.push_back({high, range.scope});
  }
  close_until(~std::uint64_t{0});
  auto sites = table.take();
  find_lost(sites.rbegin(), sites.rend());
  find_lost(sites.begin(), sites.end());
  for (auto& site : sites) site.flags &= ~k_lost;
  return sites;
}

}  // namespace terrace::observe
