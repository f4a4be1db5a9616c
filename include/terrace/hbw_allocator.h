/* SPDX-License-Identifier: Apache-2.0 */
/* hbw_allocator.h: defines hbw::allocator, memkind's C++11 allocator for the standard containers of a program, on
 * hbwmalloc.h. Memory is placed by hbw_get_policy().
 * `allocate` throws std::bad_alloc for 0 elements, and if there is no memory. */
#ifndef TERRACE_HBW_ALLOCATOR_H
#define TERRACE_HBW_ALLOCATOR_H

#include <hbwmalloc.h>
#include <stddef.h>

#include <new>
#include <utility>

namespace hbw {

// NOLINTBEGIN(readability-identifier-naming): the name is memkind's.
// Allocator for the standard containers. All allocators are equal: each may free what another has allocated.
template <class T>
class allocator {
 public:
  typedef size_t size_type;
  typedef ptrdiff_t difference_type;
  typedef T* pointer;
  typedef const T* const_pointer;
  typedef T& reference;
  typedef const T& const_reference;
  typedef T value_type;
  template <class U>
  struct rebind {
    typedef hbw::allocator<U> other;
  };

  allocator() noexcept = default;
  template <class U>
  allocator(const allocator<U>&) noexcept {}  // NOLINT(google-explicit-constructor)

  pointer address(reference x) const { return &x; }
  const_pointer address(const_reference x) const { return &x; }

  pointer allocate(size_type count, const void* = nullptr) {
    if (count == 0 || count > max_size()) throw std::bad_alloc();
    void* block = nullptr;
    if (alignof(T) > alignof(max_align_t)) {
      if (hbw_posix_memalign(&block, alignof(T), count * sizeof(T)) != 0) block = nullptr;
    } else {
      block = hbw_malloc(count * sizeof(T));
    }
    if (!block) throw std::bad_alloc();
    return static_cast<pointer>(block);
  }
  void deallocate(pointer block, size_type) noexcept { hbw_free(block); }
  size_type max_size() const noexcept { return static_cast<size_type>(-1) / sizeof(T); }

  template <class U, class... Arguments>
  void construct(U* at, Arguments&&... arguments) {
    ::new (static_cast<void*>(at)) U(std::forward<Arguments>(arguments)...);
  }
  template <class U>
  void destroy(U* at) {
    at->~U();
  }
};

template <class T, class U>
bool operator==(const allocator<T>&, const allocator<U>&) {
  return true;
}
template <class T, class U>
bool operator!=(const allocator<T>&, const allocator<U>&) {
  return false;
}

// NOLINTEND(readability-identifier-naming)

}  // namespace hbw

#endif
