// A container of the program's own: grows by doubling, on malloc and free, up to a limit.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>
#include <stdexcept>
#include <type_traits>

template <typename Value>
class Trail {
  static_assert(std::is_trivially_copyable_v<Value>);

 public:
  explicit Trail(std::size_t limit) : limit_(limit) {}
  ~Trail() { std::free(values_); }
  Trail(const Trail&) = delete;
  Trail& operator=(const Trail&) = delete;

  // Throws std::length_error when the limit is reached.
  void append(Value value) {
    if (size_ == limit_) throw std::length_error("the trail is full");
    if (size_ == capacity_) grow();
    values_[size_++] = value;
  }
  void clear() { size_ = 0; }
  std::size_t size() const { return size_; }
  const Value* begin() const { return values_; }
  const Value* end() const { return values_ + size_; }

 private:
  void grow() {
    const std::size_t capacity = capacity_ == 0 ? 64 : 2 * capacity_;
    auto* values = static_cast<Value*>(std::malloc(capacity * sizeof(Value)));
    if (values == nullptr) throw std::bad_alloc();
    if (size_ != 0) std::memcpy(values, values_, size_ * sizeof(Value));
    std::free(values_);
    values_ = values;
    capacity_ = capacity;
  }

  Value* values_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
  std::size_t limit_;
};
