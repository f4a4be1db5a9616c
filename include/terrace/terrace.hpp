// SPDX-License-Identifier: Apache-2.0
// terrace.hpp: declares the C++20 interface to terrace.h for programs: allocators by intent (memory attribute) for
// the standard containers, and RAII scopes for calls that terrace.h has in pairs.
//
//     #include <terrace/terrace.hpp>
//     #include <memory_resource>
//     #include <numeric>
//     #include <unordered_map>
//     #include <vector>
//
//     int main() {
//       std::vector<double, terrace::allocator<double>> field(1000000, terrace::allocator<double>("bandwidth"));
//       terrace::memory_resource near("latency");
//       std::pmr::unordered_map<int, int> index(&near);
//       terrace::loop loop("main");
//       for (int it = 0; it < 3; ++it) {
//         loop.phase("fill");
//         std::iota(field.begin(), field.end(), it);
//         loop.phase("count");
//         for (double value : field) ++index[static_cast<int>(value) % 1000];
//       }
//       return index.size() == 1000 ? 0 : 1;
//     }
//
// Nothing needs to be linked: the functions are resolved in the process at their first use. If the program was
// not started by `terrace`, memory comes from operator new, and the scopes have no effect. (A statically linked
// program never finds the functions.) An intent is "bandwidth", "latency", "capacity", "normal", or a name that
// the machine file defines. The string is borrowed: it must outlive everything made with it. Thread-safe.
#pragma once

#include <dlfcn.h>
#include <terrace/terrace.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory_resource>
#include <new>
#include <type_traits>
#include <utility>

namespace terrace {

namespace detail {

// Functions of terrace.h as resolved in this process; null if absent.
struct Calls {
  decltype(&::terrace_aligned_alloc) aligned_alloc =
      find<decltype(&::terrace_aligned_alloc)>("terrace_aligned_alloc");
  decltype(&::terrace_free) free = find<decltype(&::terrace_free)>("terrace_free");
  decltype(&::terrace_active) active = find<decltype(&::terrace_active)>("terrace_active");
  decltype(&::terrace_where) where = find<decltype(&::terrace_where)>("terrace_where");
  decltype(&::terrace_last_error) last_error = find<decltype(&::terrace_last_error)>("terrace_last_error");
  decltype(&::terrace_loop_begin) loop_begin = find<decltype(&::terrace_loop_begin)>("terrace_loop_begin");
  decltype(&::terrace_loop_end) loop_end = find<decltype(&::terrace_loop_end)>("terrace_loop_end");
  decltype(&::terrace_phase) phase = find<decltype(&::terrace_phase)>("terrace_phase");
  decltype(&::terrace_object) object = find<decltype(&::terrace_object)>("terrace_object");
  decltype(&::terrace_forget) forget = find<decltype(&::terrace_forget)>("terrace_forget");
  decltype(&::terrace_intent) intent = find<decltype(&::terrace_intent)>("terrace_intent");
  decltype(&::terrace_current_intent) current_intent =
      find<decltype(&::terrace_current_intent)>("terrace_current_intent");

  template <class Function>
  static Function find(const char* name) noexcept {
    return reinterpret_cast<Function>(::dlsym(RTLD_DEFAULT, name));
  }
};

inline const Calls& calls() noexcept {
  static const Calls found;
  return found;
}

}  // namespace detail

// Returns whether the program runs under terrace.
inline bool active() noexcept { return detail::calls().active && detail::calls().active() != 0; }

// Returns the name of the place of the byte at `address`, or null if Terrace does not know it.
inline const char* where(const void* address) noexcept {
  return detail::calls().where ? detail::calls().where(address) : nullptr;
}

// NOLINTBEGIN(readability-identifier-naming): names follow their counterparts in std

// Thrown if there is no memory. what() states the request.
class bad_alloc : public std::bad_alloc {
 public:
  bad_alloc() noexcept {
    const char* const text = detail::calls().last_error ? detail::calls().last_error() : "no memory";
    std::strncpy(text_, text, sizeof text_ - 1);
  }
  [[nodiscard]] const char* what() const noexcept override { return text_; }

 private:
  char text_[256] = {};
};

// Allocates `bytes` bytes by the intent; 0 counts as 1. Never returns null. Throws terrace::bad_alloc.
inline void* allocate(std::size_t bytes, std::size_t alignment, const char* intent) {
  const auto& calls = detail::calls();
  if (!calls.aligned_alloc) return ::operator new (bytes, std::align_val_t{alignment});
  void* const block = calls.aligned_alloc(std::max<std::size_t>(bytes, 1), alignment, intent);
  if (block) return block;
  // Plain memory if the machine has no such intent, so that the program runs there, too.
  const auto whole = (std::max<std::size_t>(bytes, 1) + alignment - 1) / alignment * alignment;
  if (void* const plain = std::aligned_alloc(alignment, whole)) return plain;
  throw bad_alloc();
}

// Releases a block of allocate(). Requires: the same alignment.
inline void deallocate(void* block, std::size_t alignment) noexcept {
  const auto& calls = detail::calls();
  if (calls.aligned_alloc)
    calls.free(block);
  else
    ::operator delete (block, std::align_val_t{alignment});
}

// Memory resource for std::pmr that allocates by an intent. Small blocks share pages with others of the intent.
// Resources of the same intent are equal: each may free what another has allocated.
class memory_resource final : public std::pmr::memory_resource {
 public:
  explicit memory_resource(const char* intent) noexcept : intent_(intent) {}
  [[nodiscard]] const char* intent() const noexcept { return intent_; }

 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    return terrace::allocate(bytes, alignment, intent_);
  }
  void do_deallocate(void* block, std::size_t, std::size_t alignment) override {
    terrace::deallocate(block, alignment);
  }
  [[nodiscard]] bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override {
    const auto* const same = dynamic_cast<const memory_resource*>(&other);
    return same && std::strcmp(intent_, same->intent_) == 0;
  }

  const char* intent_;
};

// Allocator for the standard containers: `std::vector<double, terrace::allocator<double>>
// v(terrace::allocator<double>("latency"))`. The allocator propagates on move and swap; a container that is
// copy-assigned keeps its own intent.
template <class T>
class allocator {
 public:
  using value_type = T;
  using propagate_on_container_copy_assignment = std::false_type;
  using propagate_on_container_move_assignment = std::true_type;
  using propagate_on_container_swap = std::true_type;
  using is_always_equal = std::false_type;

  explicit allocator(const char* intent) noexcept : intent_(intent) {}
  template <class U>
  allocator(const allocator<U>& other) noexcept
      : intent_(other.intent()) {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] T* allocate(std::size_t count) {
    if (count > std::numeric_limits<std::size_t>::max() / sizeof(T)) throw std::bad_array_new_length();
    return static_cast<T*>(terrace::allocate(count * sizeof(T), alignof(T), intent_));
  }
  void deallocate(T* block, std::size_t) noexcept { terrace::deallocate(block, alignof(T)); }
  [[nodiscard]] const char* intent() const noexcept { return intent_; }

  template <class U>
  friend bool operator==(const allocator& one, const allocator<U>& other) noexcept {
    return std::strcmp(one.intent(), other.intent()) == 0;
  }

 private:
  const char* intent_;
};

// Marks the main loop: begins it, and ends it at the end of the scope.
class loop {
 public:
  explicit loop(const char* name = nullptr) {
    if (detail::calls().loop_begin) detail::calls().loop_begin(name);
  }
  ~loop() {
    if (detail::calls().loop_end) detail::calls().loop_end();
  }
  loop(const loop&) = delete;
  loop& operator=(const loop&) = delete;

  // Begins the phase `name` and ends the previous one.
  void phase(const char* name) const {
    if (detail::calls().phase) detail::calls().phase(name);
  }
};

// Begins a phase. It lasts until the next one begins or the loop ends. Phases have no gaps, so the end of the
// scope marks nothing.
class phase {
 public:
  explicit phase(const char* name) {
    if (detail::calls().phase) detail::calls().phase(name);
  }
  phase(const phase&) = delete;
  phase& operator=(const phase&) = delete;
};

// Sets the intent of the calling thread's allocations in the scope, and restores the previous one at its end.
class intent_scope {
 public:
  explicit intent_scope(const char* intent) {
    const auto& calls = detail::calls();
    if (!calls.intent) return;
    before_ = calls.current_intent();
    status_ = calls.intent(intent);
  }
  ~intent_scope() {
    if (status_ == TERRACE_OK) detail::calls().intent(before_);
  }
  intent_scope(const intent_scope&) = delete;
  intent_scope& operator=(const intent_scope&) = delete;

  // Returns TERRACE_INVALID if the machine has no such intent; then nothing was changed.
  [[nodiscard]] terrace_status status() const noexcept { return status_; }

 private:
  const char* before_ = nullptr;
  terrace_status status_ = TERRACE_NOT_ACTIVE;
};

// Registers existing memory as an object of that name during the scope.
class object {
 public:
  object(const char* name, void* address, std::size_t bytes) : address_(address) {
    if (detail::calls().object) status_ = detail::calls().object(name, address, bytes);
  }
  // Takes a contiguous container or an array.
  template <class Range>
  requires requires(Range& range) { std::data(range), std::size(range); }
  object(const char* name, Range& range)
      : object(name, std::data(range), std::size(range) * sizeof(*std::data(range))) {}
  ~object() {
    if (status_ == TERRACE_OK) detail::calls().forget(address_);
  }
  object(const object&) = delete;
  object& operator=(const object&) = delete;

  [[nodiscard]] terrace_status status() const noexcept { return status_; }

 private:
  void* address_;
  terrace_status status_ = TERRACE_NOT_ACTIVE;
};

// NOLINTEND(readability-identifier-naming)

}  // namespace terrace
