// SPDX-License-Identifier: Apache-2.0
// Executes the operations of a trace on an allocator, and counts space, failures and differing outcomes. Called by
// the Python module for `terrace lab pim`.
#include "pim/trace/replay.hpp"

#include <span>

#include "core/error.hpp"

namespace terrace::pim {
namespace {

using Kind = Operation::Kind;

class Replayer {
 public:
  explicit Replayer(Allocator& allocator) : allocator_(allocator) {}

  void release(const Operation& operation) {
    ++summary_.operations;
    ++summary_.releases;
    const auto block = summary_.live.find(operation.id);
    if (block == summary_.live.end()) return;
    summary_.used[static_cast<std::size_t>(block->second.dim)] -= block->second.block.shape.units();
    allocator_.release(block->second.handle);
    summary_.live.erase(block);
  }

  void allocate(const Operation& operation) {
    auto request = operation.request;
    if (operation.beside != 0) {
      const auto neighbour = summary_.live.find(operation.beside);
      if (neighbour == summary_.live.end()) return note(operation, {});
      request.beside = neighbour->second.handle;
    }
    note(operation, asked([&] { return allocator_.allocate(request); }));
  }

  void allocate_group(std::span<const Operation> members, Within share) {
    std::vector<Request> requests;
    requests.reserve(members.size());
    for (const auto& member : members) requests.push_back(member.request);
    const auto handles = asked([&] { return allocator_.allocate_group(requests, share); });
    for (std::size_t i = 0; i < members.size(); ++i) note(members[i], handles.empty() ? Handle{} : handles[i]);
  }

  [[nodiscard]] ReplaySummary& summary() { return summary_; }

 private:
  // Requests that no empty device of this geometry could hold fail.
  template <class Ask>
  static auto asked(Ask ask) -> decltype(ask()) {
    try {
      return ask();
    } catch (const Error& error) {
      if (error.code() != Code::invalid) throw;
      return {};
    }
  }

  // Counts an allocation and compares its outcome with the recorded one.
  void note(const Operation& operation, Handle handle) {
    ++summary_.operations;
    ++summary_.allocations;
    const Outcome replayed{allocator_.block(handle)};
    if (replayed.block) {
      const auto dim = operation.request.dim;
      summary_.live.emplace(operation.id, LiveBlock{handle, *replayed.block, dim});
      summary_.used[static_cast<std::size_t>(dim)] += replayed.block->shape.units();
      if (summary_.in_use() > summary_.peak) {
        summary_.peak = summary_.in_use();
        summary_.peak_operations = summary_.operations;
      }
    } else {
      ++summary_.failures;
    }
    if (!operation.outcome) return;
    ++summary_.compared;
    if (*operation.outcome == replayed) return;
    ++summary_.differ;
    if (summary_.differences.size() < k_max_differences)
      summary_.differences.push_back({operation.line, operation.id, *operation.outcome, replayed});
  }

  Allocator& allocator_;
  ReplaySummary summary_;
};

}  // namespace

// Executes up to `most` operations; a group counts as its allocations and is not split.
ReplaySummary replay(const Trace& trace, Allocator& allocator, const Watch& watch, std::size_t most) {
  Replayer replayer(allocator);
  const std::span all(trace.operations);
  for (std::size_t i = 0; i < all.size() && replayer.summary().operations < most; ++i) {
    if (all[i].kind == Kind::release)
      replayer.release(all[i]);
    else if (all[i].kind == Kind::allocate)
      replayer.allocate(all[i]);
    else
      replayer.allocate_group(all.subspan(i + 1, all[i].members), all[i].share);
    if (all[i].kind == Kind::group) i += all[i].members;
    if (watch) watch(replayer.summary());
  }
  return std::move(replayer.summary());
}

}  // namespace terrace::pim
