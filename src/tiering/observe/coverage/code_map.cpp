// SPDX-License-Identifier: Apache-2.0
// Attributes the program's time to files of code, for the agent's report of what the hooks do not reach. See
// code_map.hpp.
#include "observe/coverage/code_map.hpp"

#include <algorithm>

namespace terrace::observe {

void CodeMap::add(Counts& counts, std::uint64_t time_ns) const noexcept {
  counts[in_loop_.load(std::memory_order_relaxed) ? 1 : 0].fetch_add(time_ns, std::memory_order_relaxed);
}

CodeMap::File* CodeMap::find(const Table* table, std::uint64_t address) noexcept {
  if (!table) return nullptr;
  const auto after = std::upper_bound(table->begin(), table->end(), address,
                                      [](std::uint64_t value, const Entry& entry) { return value < entry.low; });
  if (after == table->begin()) return nullptr;
  const auto& entry = *(after - 1);
  return address < entry.high ? entry.file : nullptr;
}

void CodeMap::count(std::uint64_t address, std::uint64_t time_ns) noexcept {
  if (auto* const file = find(current_.load(std::memory_order_acquire), address))
    add(file->time, time_ns);
  else
    count_unknown(address, time_ns);
}

// Counts time in code of no known file by its page, until update() names the file.
void CodeMap::count_unknown(std::uint64_t address, std::uint64_t time_ns) noexcept {
  const auto number = address >> k_page_bits;
  for (std::size_t i = 0; i < k_pages; ++i) {
    auto& page = pages_[(number + i) % k_pages];
    auto owner = page.number.load(std::memory_order_relaxed);
    if (owner == 0 && page.number.compare_exchange_strong(owner, number, std::memory_order_relaxed))
      owner = number;
    if (owner != number) continue;
    add(page.time, time_ns);
    return;
  }
  add(nowhere_, time_ns);
}

void CodeMap::update(const std::vector<LoadedCode>& loaded) {
  const std::lock_guard guard(lock_);
  auto table = std::make_unique<Table>();
  for (const auto& code : loaded) {
    const auto known = std::find_if(files_.begin(), files_.end(), [&](const File& file) {
      return file.path == code.path && file.kind == code.kind;
    });
    auto& file = known != files_.end() ? *known : files_.emplace_back(code.path, code.kind);
    table->push_back({code.low, code.high, &file});
  }
  std::sort(table->begin(), table->end(), [](const Entry& a, const Entry& b) { return a.low < b.low; });
  resolve_unknown(*table);
  tables_.push_back(std::move(table));
  current_.store(tables_.back().get(), std::memory_order_release);
}

// Moves the time of pages whose file is known now. Pages keep their numbers, so that concurrent counting finds
// them.
void CodeMap::resolve_unknown(const Table& table) {
  for (auto& page : pages_) {
    const auto number = page.number.load(std::memory_order_relaxed);
    auto* const file = number != 0 ? find(&table, number << k_page_bits) : nullptr;
    if (!file) continue;
    for (std::size_t i = 0; i < page.time.size(); ++i)
      file->time[i].fetch_add(page.time[i].exchange(0, std::memory_order_relaxed), std::memory_order_relaxed);
  }
}

std::vector<CodeTime> CodeMap::times() const {
  std::vector<CodeTime> result;
  const auto put = [&](const std::string& path, CodeKind kind, const Counts& counts) {
    const TimeSplit spent{counts[1].load(std::memory_order_relaxed), counts[0].load(std::memory_order_relaxed)};
    if (spent.in_loop + spent.elsewhere == 0) return;
    const auto same = std::find_if(result.begin(), result.end(), [&](const CodeTime& known) {
      return known.path == path && known.kind == kind;
    });
    auto& time = same != result.end() ? *same : result.emplace_back(CodeTime{path, kind, {}});
    time.time.in_loop += spent.in_loop;
    time.time.elsewhere += spent.elsewhere;
  };
  const std::lock_guard guard(lock_);
  for (const auto& file : files_) put(file.path, file.kind, file.time);
  put("(reported copies)", CodeKind::hooks, reported_);
  put("(terrace)", CodeKind::terrace, own_);
  put("(no file)", CodeKind::no_hooks, nowhere_);
  for (const auto& page : pages_) put("(no file)", CodeKind::no_hooks, page.time);
  return result;
}

}  // namespace terrace::observe
