// Defines the allocators that pim_bench compares, each behind two functions: take() allocates a block for a piece
// of work, give() releases it. All are called with the same work: the allocators of the device turn bytes into a
// shape on each request, as their users do; the mallocs take the bytes. Memory is not touched.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "pim/allocator.hpp"
#include "pim/published/contig_vectors.hpp"
#include "threads.hpp"

namespace terrace::pim::bench {

// The example device of the paper (table 3): 1 GiB.
inline constexpr Geometry k_device{.rows = 1024, .columns = 65536, .subarrays = 16, .banks = 8};

struct Work {
  // How bytes become a shape: by area, down a single column (a bit in each row), or as the given shape.
  enum class As : std::uint8_t { area, column, shape };
  As as = As::area;
  Dim dim = Dim::horizontal;
  std::size_t bytes = 0;
  Shape shape{};  // with As::shape

  static Work of(const Shape& shape, Dim dim) { return {As::shape, dim, size_of(k_device, shape).value, shape}; }
};

inline Shape shape_for(const Work& work) {
  switch (work.as) {
    case Work::As::area:
      return shape_of(k_device, Bytes{work.bytes}, work.dim);
    case Work::As::column:
      return shape_of_elements(k_device, 1, static_cast<std::uint32_t>(work.bytes * 8), work.dim);
    case Work::As::shape:
      break;
  }
  return work.shape;
}

enum class Contender : std::uint8_t { terrace, paper, paper_all, glibc, jemalloc, mimalloc, apart, control };
std::string name_of(Contender contender);

// Third-party mallocs, each in its own shared library, next to the program's own.
struct Malloc {
  void* (*take)(std::size_t) = nullptr;
  void (*give)(void*) = nullptr;
};
// Returns nothing if the machine has no such library.
const std::optional<Malloc>& library_of(Contender contender);
// Returns the contenders of the list that are available here.
std::vector<Contender> present(std::vector<Contender> contenders);
// jemalloc's thread-local storage is larger than what the loader keeps for libraries that come late: starts the
// program again with more of it, once.
void make_room_for_libraries(char** arguments);

class Terrace {
 public:
  using Token = Handle;
  Token take(const Work& work) { return allocator_.allocate({.shape = shape_for(work), .dim = work.dim}); }
  void give(Token token) { allocator_.release(token); }
  [[nodiscard]] std::optional<Block> block(const Token& token) const { return allocator_.block(token); }

 private:
  Allocator allocator_{k_device};
};

// Terrace with a device for each thread, which share nothing: the time that it takes longer in two threads is due
// to the machine alone.
class Apart {
 public:
  using Token = Handle;
  Token take(const Work& work) { return mine().take(work); }
  void give(Token token) { mine().give(token); }
  [[nodiscard]] static std::optional<Block> block(const Token&) { return std::nullopt; }

 private:
  Terrace& mine() { return *devices_[thread_number]; }
  std::array<std::unique_ptr<Terrace>, k_max_threads> devices_ = [] {
    std::array<std::unique_ptr<Terrace>, k_max_threads> devices;
    for (auto& device : devices) device = std::make_unique<Terrace>();
    return devices;
  }();
};

class Paper {
 public:
  using Token = std::optional<Block>;
  explicit Paper(ContigVectors::Update update) : contig_(k_device.rows, k_device.width(), update) {}
  Token take(const Work& work) { return contig_.allocate(shape_for(work)); }
  void give(const Token& token) { contig_.release(*token); }
  [[nodiscard]] std::optional<Block> block(const Token& token) const { return token; }

 private:
  ContigVectors contig_;
};

// Called through pointers that the compiler cannot see through: no pair of calls is optimised away.
class Library {
 public:
  using Token = void*;
  explicit Library(const Malloc& functions) : functions_(functions) {}
  Token take(const Work& work) { return functions_.take(work.bytes); }
  void give(Token token) { functions_.give(token); }
  [[nodiscard]] std::optional<Block> block(Token) const { return std::nullopt; }

 private:
  Malloc functions_;
};

// Shares nothing and allocates nothing, one operation waiting for the other.
class Control {
 public:
  using Token = std::uint64_t;
  static Token take(const Work& work) {
    auto x = static_cast<std::uint64_t>(work.bytes) + 88172645463325252u;
    asm volatile("" : "+r"(x));  // not known from the call before
    for (int i = 0; i < 12; ++i) {
      x ^= x << 13;
      x ^= x >> 7;
      x ^= x << 17;
    }
    asm volatile("" : "+r"(x));
    return x | 1;
  }
  static void give(Token) {}
  [[nodiscard]] static std::optional<Block> block(Token) { return std::nullopt; }
};

// Calls `use` with a new one of these, as its own type.
template <typename Use>
auto with(Contender contender, Use use) {
  switch (contender) {
    case Contender::terrace: {
      Terrace terrace;
      return use(terrace);
    }
    case Contender::paper:
    case Contender::paper_all: {
      using Update = ContigVectors::Update;
      Paper paper(contender == Contender::paper ? Update::changed : Update::all);
      return use(paper);
    }
    case Contender::apart: {
      Apart apart;
      return use(apart);
    }
    case Contender::control: {
      Control control;
      return use(control);
    }
    default: {
      Library library(library_of(contender).value());
      return use(library);
    }
  }
}

}  // namespace terrace::pim::bench
