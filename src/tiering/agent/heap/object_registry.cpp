// SPDX-License-Identifier: Apache-2.0
// Registers the program's allocations, mappings, stacks and static data with the runtime, as objects of whole,
// disjoint ranges of pages. Called by the interposed functions and the API. See object_registry.hpp.
#include "agent/heap/object_registry.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include "core/rounding.hpp"
#include "observe/threads/thread.hpp"

namespace terrace::agent {

namespace {

// Returns how many bytes of the page lie in [low, high).
std::uint64_t overlap(std::uint64_t low, std::uint64_t high, std::uint64_t page) {
  const auto from = std::max(low, page);
  const auto to = std::min(high, page + k_page);
  return to > from ? to - from : 0;
}

}  // namespace

// Acquires the lock, unless the calling thread holds it already: then is_held() is false, and the call has no
// effect.
class ObjectRegistry::LockScope {
 public:
  explicit LockScope(ObjectRegistry& registry) : registry_(registry) {
    if (registry_.holder_.load(std::memory_order_relaxed) == &observe::t_thread) return;
    registry_.lock_.lock();
    registry_.holder_.store(&observe::t_thread, std::memory_order_relaxed);
    is_held_ = true;
  }
  ~LockScope() {
    if (!is_held_) return;
    registry_.holder_.store(nullptr, std::memory_order_relaxed);
    registry_.lock_.unlock();
  }
  LockScope(const LockScope&) = delete;
  LockScope& operator=(const LockScope&) = delete;
  [[nodiscard]] bool is_held() const { return is_held_; }

 private:
  ObjectRegistry& registry_;
  observe::RuntimeScope inside_;
  bool is_held_ = false;
};

// Returns the object that owns the address, or the end. Requires: the lock is held.
ObjectRegistry::Objects::const_iterator ObjectRegistry::covering(std::uint64_t address) const {
  auto at = objects_.upper_bound(address);
  if (at == objects_.begin()) return objects_.end();
  --at;
  return at->second.high > address ? at : objects_.end();
}

// Returns whether the page's present owner (or unowned data) covers more of it than [low, high) does.
bool ObjectRegistry::owner_covers_more(std::uint64_t page, std::uint64_t low, std::uint64_t high) const {
  const auto wanted = overlap(low, high, page);
  const auto owner = covering(page);
  const auto had =
      owner == objects_.end() ? k_page - wanted : overlap(owner->second.true_low, owner->second.true_high, page);
  return had > wanted;
}

// Adds an object with the pages [low, high), which no other owns. [true_low, true_high): the program's bytes.
void ObjectRegistry::insert(std::string name, observe::ObjectKind kind, std::uint64_t low, std::uint64_t high,
                            std::uint64_t true_low, std::uint64_t true_high, bool is_at_home) {
  const auto* const address = reinterpret_cast<const void*>(low);  // NOLINT(performance-no-int-to-ptr)
  const auto id = runtime_.add_object(name, kind, address, Bytes{high - low}, is_at_home);
  added_.fetch_add(high - low, std::memory_order_relaxed);
  objects_.insert_or_assign(low, Object{high, true_low, true_high, id, kind, std::move(name)});
}

// Removes the pages [low, high) from their owners. The rest on either side is registered again under the old name.
// Returns whether all of their memory was where it would be without Terrace.
bool ObjectRegistry::carve(std::uint64_t low, std::uint64_t high) {
  bool were_at_home = true;
  for (auto at = covering(low) != objects_.end() ? covering(low) : objects_.lower_bound(low);
       at != objects_.end() && at->first < high;) {
    const auto begins = at->first;
    auto old = at->second;
    objects_.erase(at);
    if (!runtime_.remove_object(old.id)) were_at_home = false;
    if (begins < low) insert(old.name, old.kind, begins, low, old.true_low, std::min(old.true_high, low));
    if (old.high > high) insert(old.name, old.kind, high, old.high, std::max(old.true_low, high), old.true_high);
    at = objects_.lower_bound(std::min(old.high, high));
  }
  return were_at_home;
}

// Calls on_growth_, once, when enough bytes have been added. Starts the monitors of uninstrumented programs.
void ObjectRegistry::notify_growth() noexcept {
  if (!on_growth_ || added_.load(std::memory_order_relaxed) < k_growth_step) return;
  lock_.lock();
  auto* const on_growth = std::exchange(on_growth_, nullptr);
  lock_.unlock();
  if (on_growth) on_growth();
}

bool ObjectRegistry::add(std::string_view name, observe::ObjectKind kind, std::uint64_t low,
                         std::uint64_t high) noexcept {
  const bool done = add_competing(name, kind, low, high);
  if (done) notify_growth();
  return done;
}

// Adds an object of arbitrary bytes, which gets its first and last page only if it covers the most of them.
bool ObjectRegistry::add_competing(std::string_view name, observe::ObjectKind kind, std::uint64_t low,
                                   std::uint64_t high) noexcept {
  LockScope scope(*this);
  if (!scope.is_held() || high <= low) return false;
  try {
    auto first = page_down(low);
    auto last = page_up(high);
    // Fully covered pages belong to the object; partly covered ones only if it covers the most.
    if (first < low && owner_covers_more(first, low, high)) first += k_page;
    if (last > high && last > first && owner_covers_more(last - k_page, low, high)) last -= k_page;
    if (last <= first) return false;
    carve(first, last);
    insert(std::string(name), kind, first, last, low, high);
    return true;
  } catch (const std::exception&) {
    return false;  // no memory: the range stays unnamed
  }
}

bool ObjectRegistry::add_pages(std::string_view name, observe::ObjectKind kind, std::uint64_t first,
                               std::uint64_t last, std::uint64_t low, std::uint64_t high) noexcept {
  const bool done = add_exact(name, kind, first, last, low, high, false);
  if (done) notify_growth();
  return done;
}

// Adds an object with exactly the pages [first, last).
bool ObjectRegistry::add_exact(std::string_view name, observe::ObjectKind kind, std::uint64_t first,
                               std::uint64_t last, std::uint64_t low, std::uint64_t high,
                               bool is_at_home) noexcept {
  LockScope scope(*this);
  if (!scope.is_held() || last <= first) return false;
  try {
    carve(first, last);
    insert(std::string(name), kind, first, last, low, high, is_at_home);
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

bool ObjectRegistry::add_whole(std::string_view name, observe::ObjectKind kind, std::uint64_t low,
                               std::uint64_t size) noexcept {
  return add_pages(name, kind, low, page_up(low + std::max<std::uint64_t>(size, 1)), low, low + size);
}

bool ObjectRegistry::add_reused(std::string_view name, observe::ObjectKind kind, std::uint64_t low,
                                std::uint64_t size) noexcept {
  const bool done = add_exact(name, kind, low, page_up(low + size), low, low + size, true);
  if (done) notify_growth();
  return done;
}

bool ObjectRegistry::remove(std::uint64_t low, std::uint64_t high) noexcept {
  LockScope scope(*this);
  if (!scope.is_held()) return false;
  try {
    return carve(page_down(low), page_up(high));
  } catch (const std::exception&) {
    return false;  // no memory: the rest of the object stays unnamed
  }
}

bool ObjectRegistry::forget(std::uint64_t low) noexcept {
  LockScope scope(*this);
  if (!scope.is_held()) return false;
  auto at = objects_.upper_bound(page_up(low));
  while (at != objects_.begin()) {
    --at;
    if (at->second.true_low == low) {
      const auto id = at->second.id;
      objects_.erase(at);
      runtime_.remove_object(id);
      return true;
    }
    if (at->first < page_down(low)) break;
  }
  return false;
}

// Returns the range around the address that no object covers, at most [low, high).
ObjectRegistry::Range ObjectRegistry::gap(std::uint64_t address, std::uint64_t low, std::uint64_t high) noexcept {
  LockScope scope(*this);
  if (!scope.is_held() || covering(address) != objects_.end()) return {address, address};
  const auto after = objects_.upper_bound(address);
  if (after != objects_.end()) high = std::min(high, after->first);
  if (after != objects_.begin()) low = std::max(low, std::prev(after)->second.high);
  return {low, high};
}

}  // namespace terrace::agent
