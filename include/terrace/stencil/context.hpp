// SPDX-License-Identifier: Apache-2.0
// Declares what a stencil program begins with: the context, its blocks, and their parallel loops. See
// terrace/stencil.hpp.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "terrace/stencil/bodies.hpp"
#include "terrace/stencil/chain.hpp"
#include "terrace/stencil/data.hpp"
#include "terrace/stencil/options.hpp"
#include "terrace/stencil/statistics.hpp"

namespace terrace::stencil {

namespace detail {
// Queues a transfer. Throws std::runtime_error, which names the datasets.
TERRACE_STENCIL_PUBLIC void transfer(Engine& engine, DatasetId from, const Range& from_range, DatasetId to,
                                     const Range& to_range, const Orientation& orientation);
// Requires distinct names of kept datasets from now on. Throws std::runtime_error if two have the same.
TERRACE_STENCIL_PUBLIC void keep_names_apart(Engine& engine);
// Throw std::invalid_argument: for a block without a context; for an argument of a loop (counted from 1) of
// another context than its block.
[[noreturn]] TERRACE_STENCIL_PUBLIC void refuse_block(const std::string& what, const std::string& name);
[[noreturn]] TERRACE_STENCIL_PUBLIC void refuse_argument(const std::string& loop, std::size_t argument);
}  // namespace detail

// An index space, from 0 to its size in each dimension.
class TERRACE_STENCIL_PUBLIC Block {
 public:
  Block() = default;
  Block(Engine* engine, BlockId id, const Range& range) : engine_(engine), id_(id), range_(range) {}

  [[nodiscard]] const Range& range() const { return range_; }
  // Adds a dataset: one value of type T at each point of the block and its halo.
  template <class T>
  [[nodiscard]] Dataset<T> dataset(const std::string& name, const Halo& halo = {}) const {
    return {engine_, add_dataset(name, sizeof(T), halo, known_number_of<T>(), false)};
  }
  // Adds a temporary dataset: its values do not outlive a chain, which saves moving them. A chain that reads it
  // before writing it fails. At the points of `kept` it behaves as any other dataset.
  template <class T>
  [[nodiscard]] Dataset<T> temporary(const std::string& name, const Halo& halo = {},
                                     const std::vector<Range>& kept = {}) const {
    return {engine_, add_dataset(name, sizeof(T), halo, known_number_of<T>(), true, kept)};
  }

  // Queues a loop: runs the kernel at each point of the range, in any order, once its inputs are computed.
  // Execution starts when a result is needed.
  template <class Kernel, class... Arguments>
  void loop(std::string name, const Range& range, Kernel kernel, Arguments... arguments) const {
    static_assert(
        (detail::LoopArgument<Arguments> && ...),
        "behind the kernel a loop has read(u), write(u), read_write(u), increment(u), read(line), index() "
        "or into(reduction), and no dataset by itself");
    if constexpr ((detail::LoopArgument<Arguments> && ...)) {
      if (!engine_) detail::refuse_block("loop", name);
      std::size_t argument = 0;
      if (!((++argument, arguments.is_of(engine_)) && ...)) detail::refuse_argument(name, argument);
      Loop loop;
      loop.name = std::move(name);
      loop.block = id_;
      loop.range = range;
      detail::Position position;
      (arguments.describe(loop, position), ...);
      detail::set_bodies(loop, kernel, arguments...);
      add(std::move(loop));
    }
  }

 private:
  [[nodiscard]] DatasetId add_dataset(const std::string& name, std::size_t element, const Halo& halo,
                                      std::optional<Number> number, bool is_temporary,
                                      const std::vector<Range>& kept = {}) const;
  void add(Loop loop) const;

  Engine* engine_ = nullptr;
  BlockId id_ = 0;
  Range range_;
};

// Owns blocks and datasets, and runs chains of loops. Not thread-safe: one thread uses it. A moved-from context
// is empty: its functions throw std::invalid_argument.
class TERRACE_STENCIL_PUBLIC Context {
 public:
  explicit Context(const Options& options = Options::from_environment());
  // Takes an engine set up elsewhere: see terrace/stencil/ranks.hpp.
  explicit Context(std::unique_ptr<Engine> engine);
  ~Context();
  Context(Context&&) noexcept;
  Context& operator=(Context&&) noexcept;

  // Adds a block of `size` points in x, y and z.
  [[nodiscard]] Block block(const std::string& name, const std::vector<std::ptrdiff_t>& size);
  // Create a reduction over the points of the loops that contribute to it.
  template <class T>
  [[nodiscard]] Sum<T> sum() {
    return {engine_.get(), add_reduction(ReductionKind::sum, number_of<T>())};
  }
  template <class T>
  [[nodiscard]] Minimum<T> minimum() {
    return {engine_.get(), add_reduction(ReductionKind::minimum, number_of<T>())};
  }
  template <class T>
  [[nodiscard]] Maximum<T> maximum() {
    return {engine_.get(), add_reduction(ReductionKind::maximum, number_of<T>())};
  }

  // Queues a copy of a range of a dataset to a range of another, in the same or another block. It is ordered
  // after the loops and transfers called before it, and before those called after it. Along each axis both
  // ranges have the same number of points. Both datasets belong to this context, and neither is temporary.
  template <class T>
  void transfer(const Dataset<T>& from, const Range& from_range, const Dataset<T>& to, const Range& to_range,
                const Orientation& orientation = {}) {
    if (&from.engine() != engine_.get() || &to.engine() != engine_.get())
      throw std::invalid_argument(
          "transfer(): one of its datasets belongs to another context: pass two datasets of the context that is "
          "called");
    detail::transfer(*engine_, from.id(), from_range, to.id(), to_range, orientation);
  }

  // Runs all queued loops and transfers.
  void run();
  [[nodiscard]] const Statistics& statistics() const;
  [[nodiscard]] const Options& options() const;
  // Returns the queued loops of all blocks.
  [[nodiscard]] const Chain& waiting() const;
  // Returns the engine, for libraries that extend it (terrace/stencil/hdf5.hpp).
  [[nodiscard]] Engine& engine();

 private:
  [[nodiscard]] Engine& own() const;
  [[nodiscard]] ReductionId add_reduction(ReductionKind kind, Number number);

  std::unique_ptr<Engine> engine_;
};

}  // namespace terrace::stencil
