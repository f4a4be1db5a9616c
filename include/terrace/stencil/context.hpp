// Blocks, datasets, reductions and parallel loops: what a program is written with. See terrace/stencil.hpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "terrace/stencil/chain.hpp"
#include "terrace/stencil/kernel.hpp"
#include "terrace/stencil/options.hpp"
#include "terrace/stencil/statistics.hpp"

namespace terrace::stencil {

class Engine;  // what keeps data, plans and runs chains (src/stencil)

enum class ReductionKind : std::uint8_t { sum, minimum, maximum };
enum class Number : std::uint8_t { float64, float32, int64, int32 };

template <class T>
[[nodiscard]] constexpr Number number_of() {
  if constexpr (std::is_same_v<T, double>)
    return Number::float64;
  else if constexpr (std::is_same_v<T, float>)
    return Number::float32;
  else if constexpr (std::is_same_v<T, std::int64_t>)
    return Number::int64;
  else {
    static_assert(std::is_same_v<T, std::int32_t>, "double, float, std::int64_t or std::int32_t");
    return Number::int32;
  }
}

// Nothing for types that are none of these: they can be in datasets, and not in files.
template <class T>
[[nodiscard]] constexpr std::optional<Number> known_number_of() {
  if constexpr (std::is_same_v<T, double> || std::is_same_v<T, float> || std::is_same_v<T, std::int64_t> ||
                std::is_same_v<T, std::int32_t>)
    return number_of<T>();
  else
    return std::nullopt;
}

// How far a dataset goes beyond its block, by dimension: `low` points below (0 or less), `high` points above.
struct Halo {
  Point low{0, 0, 0};
  Point high{0, 0, 0};
};

// How the axes of the source of a transfer lie along those of its target: along the target's axis d goes the
// source's axis axes[d], from its end to its beginning where flipped[d].
struct Orientation {
  std::array<std::size_t, k_most_dims> axes{0, 1, 2};
  std::array<bool, k_most_dims> flipped{false, false, false};
};

// Numbers at the points of a block, or of a larger range. A handle: copies are the same dataset. At first all are
// 0.
template <class T>
class Dataset {
  static_assert(std::is_trivially_copyable_v<T>, "elements are copied as bytes");

 public:
  Dataset() = default;
  Dataset(Engine* engine, DatasetId id) : engine_(engine), id_(id) {}

  [[nodiscard]] DatasetId id() const { return id_; }
  [[nodiscard]] Engine& engine() const { return *engine_; }
  [[nodiscard]] std::string_view name() const;
  // All points that it has.
  [[nodiscard]] Range range() const;
  // The numbers of a part of them, x fastest; runs what waits.
  [[nodiscard]] std::vector<T> get(const Range& range) const;
  [[nodiscard]] T get(const Point& point) const {
    return get(Range{point, {point[0] + 1, point[1] + 1, point[2] + 1}}).front();
  }
  // Sets them; runs what waits.
  void set(const Range& range, std::span<const T> numbers);

 private:
  Engine* engine_ = nullptr;
  DatasetId id_ = 0;
};

// Numbers along one axis, the same for all other coordinates. Small, and always in memory.
template <class T, std::size_t Axis>
class Line {
 public:
  Line() = default;
  Line(std::ptrdiff_t begin, std::ptrdiff_t end)
      : begin_(begin), numbers_(std::make_shared<std::vector<T>>(static_cast<std::size_t>(end - begin))) {}
  T& operator[](std::ptrdiff_t i) { return (*numbers_)[static_cast<std::size_t>(i - begin_)]; }
  const T& operator[](std::ptrdiff_t i) const { return (*numbers_)[static_cast<std::size_t>(i - begin_)]; }
  [[nodiscard]] std::ptrdiff_t begin() const { return begin_; }
  [[nodiscard]] std::ptrdiff_t end() const { return begin_ + static_cast<std::ptrdiff_t>(numbers_->size()); }
  [[nodiscard]] std::shared_ptr<const std::vector<T>> numbers() const { return numbers_; }

 private:
  std::ptrdiff_t begin_ = 0;
  std::shared_ptr<std::vector<T>> numbers_;
};

// A result of all points of the loops that enter values. value() runs what waits, and the next loops begin anew.
template <class T>
class Reduction {
 public:
  Reduction() = default;
  Reduction(Engine* engine, ReductionId id) : engine_(engine), id_(id) {}
  [[nodiscard]] T value() const;
  [[nodiscard]] ReductionId id() const { return id_; }

 private:
  Engine* engine_ = nullptr;
  ReductionId id_ = 0;
};

template <class T>
struct Sum : Reduction<T> {
  using Reduction<T>::Reduction;
};
template <class T>
struct Minimum : Reduction<T> {
  using Reduction<T>::Reduction;
};
template <class T>
struct Maximum : Reduction<T> {
  using Reduction<T>::Reduction;
};

// --- arguments of a loop
// --------------------------------------------------------------------------------------------

namespace detail {
// Throws std::runtime_error, which names the datasets.
TERRACE_STENCIL_PUBLIC void transfer(Engine& engine, DatasetId from, const Range& from_range, DatasetId to,
                                     const Range& to_range, const Orientation& orientation);

#ifdef TERRACE_STENCIL_CHECKS
inline namespace checked {
#endif

// Where an argument is among those of its kind: views go by dataset arguments, partials by reductions.
struct Position {
  std::size_t view = 0;
  std::size_t partial = 0;
};

template <class T, Access How>
struct FieldArgument {
  using Element = std::conditional_t<How == Access::read, const T, T>;
  Dataset<T> dataset;
  Stencil stencil;

  void describe(Loop& loop, Position& position) {
    at = position.view++;
    loop.arguments.push_back(
        {dataset.id(), dataset.name(), How, stencil, stencil.low(), stencil.high(), sizeof(T)});
    stencil = Stencil{};  // the loop has it
  }
  [[nodiscard]] FieldCursor<Element> cursor(const Call& call, const Point& point) const {
    const auto& view = call.views[at];
    auto* const from =
        reinterpret_cast<Element*>(view.origin) + point[0] + point[1] * view.row + point[2] * view.plane;
    return {call, at, point, from, view};
  }
  std::size_t at = 0;
};

template <class T, std::size_t Axis>
struct LineArgument {
  std::shared_ptr<const std::vector<T>> numbers;
  std::ptrdiff_t begin;

  void describe(Loop& /*loop*/, Position& /*position*/) const {}
  [[nodiscard]] LineCursor<T, Axis> cursor(const Call& call, const Point& point) const {
    return {call, point, *numbers, begin};
  }
};

struct IndexArgument {
  void describe(Loop& /*loop*/, Position& /*position*/) const {}
  [[nodiscard]] IndexCursor cursor(const Call& /*call*/, const Point& point) const { return {point}; }
};

template <class T, template <class> class Into>
struct ReductionArgument {
  ReductionId reduction;
  std::size_t at = 0;

  void describe(Loop& loop, Position& position) {
    at = position.partial++;
    loop.reductions.push_back({reduction});
  }
  [[nodiscard]] ReductionCursor<T, Into> cursor(const Call& call, const Point& point) const {
    auto* const kept = reinterpret_cast<T*>(call.partials[at]) + partial_row(call.loop.range, point[1], point[2]);
    return {kept, *kept};
  }
};

#ifdef TERRACE_STENCIL_CHECKS
}  // namespace checked
#endif
}  // namespace detail

template <class T>
[[nodiscard]] detail::FieldArgument<T, Access::read> read(const Dataset<T>& dataset, Stencil stencil = {}) {
  return {dataset, std::move(stencil)};
}
template <class T>
[[nodiscard]] detail::FieldArgument<T, Access::write> write(const Dataset<T>& dataset) {
  return {dataset, {}};
}
// Written at the loop's own point. Read at the offsets, which may be without the own point, and at others only
// where these lead out of the loop's range.
template <class T>
[[nodiscard]] detail::FieldArgument<T, Access::read_write> read_write(const Dataset<T>& dataset,
                                                                      Stencil stencil = {}) {
  return {dataset, std::move(stencil)};
}
template <class T>
[[nodiscard]] detail::FieldArgument<T, Access::increment> increment(const Dataset<T>& dataset) {
  return {dataset, {}};
}
// Numbers along an axis, as they are when the loop runs: change them only while no loop waits.
template <class T, std::size_t Axis>
[[nodiscard]] detail::LineArgument<T, Axis> read(const Line<T, Axis>& line) {
  return {line.numbers(), line.begin()};
}
[[nodiscard]] inline detail::IndexArgument index() { return {}; }
template <class T>
[[nodiscard]] detail::ReductionArgument<T, SumAccessor> into(const Sum<T>& sum) {
  return {sum.id()};
}
template <class T>
[[nodiscard]] detail::ReductionArgument<T, MinAccessor> into(const Minimum<T>& minimum) {
  return {minimum.id()};
}
template <class T>
[[nodiscard]] detail::ReductionArgument<T, MaxAccessor> into(const Maximum<T>& maximum) {
  return {maximum.id()};
}

// --- blocks and context
// ---------------------------------------------------------------------------------------------

// An index space, from 0 to its size in each dimension.
class TERRACE_STENCIL_PUBLIC Block {
 public:
  Block() = default;
  Block(Engine* engine, BlockId id, const Range& range) : engine_(engine), id_(id), range_(range) {}

  [[nodiscard]] const Range& range() const { return range_; }
  template <class T>
  [[nodiscard]] Dataset<T> dataset(const std::string& name, const Halo& halo = {}) const {
    return {engine_, add_dataset(name, sizeof(T), halo, known_number_of<T>(), false)};
  }
  // One whose numbers no chain needs from before: they are not kept when a chain has ended, which saves moving
  // them. A chain that reads it before writing it ends with an error.
  template <class T>
  [[nodiscard]] Dataset<T> temporary(const std::string& name, const Halo& halo = {}) const {
    return {engine_, add_dataset(name, sizeof(T), halo, known_number_of<T>(), true)};
  }

  // The kernel runs at each point of the range, in any order, once what it needs is there. It waits until
  // something is asked for.
  template <class Kernel, class... Arguments>
  void loop(std::string name, const Range& range, Kernel kernel, Arguments... arguments) const {
    Loop loop;
    loop.name = std::move(name);
    loop.block = id_;
    loop.range = range;
    detail::Position position;
    (arguments.describe(loop, position), ...);
    loop.body = [kernel, arguments...](const Call& call) { detail::walk(kernel, call, arguments...); };
    add(std::move(loop));
  }

 private:
  [[nodiscard]] DatasetId add_dataset(const std::string& name, std::size_t element, const Halo& halo,
                                      std::optional<Number> number, bool is_temporary) const;
  void add(Loop loop) const;

  Engine* engine_ = nullptr;
  BlockId id_ = 0;
  Range range_;
};

// Owns blocks and datasets, and runs chains of loops. One thread uses it.
class TERRACE_STENCIL_PUBLIC Context {
 public:
  explicit Context(const Options& options = Options::from_environment());
  // Of an engine that somebody else has set up: see terrace/stencil/ranks.hpp.
  explicit Context(std::unique_ptr<Engine> engine);
  ~Context();
  Context(Context&&) noexcept;
  Context& operator=(Context&&) noexcept;

  // So many points in x, y and z.
  [[nodiscard]] Block block(const std::string& name, const std::vector<std::ptrdiff_t>& size);
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

  // Copies a part of a dataset to a part of another one, of another block or of the same: after the loops and
  // transfers that are called before it, before those that are called after it. It waits as they do. Along each
  // axis both parts have as many points. Both datasets belong to this context, and neither is temporary.
  template <class T>
  void transfer(const Dataset<T>& from, const Range& from_range, const Dataset<T>& to, const Range& to_range,
                const Orientation& orientation = {}) {
    if (&from.engine() != engine_.get() || &to.engine() != engine_.get())
      throw std::invalid_argument("a transfer's datasets belong to the context that makes it");
    detail::transfer(*engine_, from.id(), from_range, to.id(), to_range, orientation);
  }

  // Runs what waits.
  void run();
  [[nodiscard]] const Statistics& statistics() const;
  [[nodiscard]] const Options& options() const;
  // The loops that wait, those of all blocks.
  [[nodiscard]] const Chain& waiting() const;
  // What is behind it, for libraries that add to it (terrace/stencil/hdf5.hpp).
  [[nodiscard]] Engine& engine() { return *engine_; }

 private:
  [[nodiscard]] ReductionId add_reduction(ReductionKind kind, Number number);

  std::unique_ptr<Engine> engine_;
};

namespace detail {
TERRACE_STENCIL_PUBLIC [[nodiscard]] std::string_view name_of(const Engine& engine, DatasetId dataset);
TERRACE_STENCIL_PUBLIC [[nodiscard]] Range range_of(const Engine& engine, DatasetId dataset);
TERRACE_STENCIL_PUBLIC void get(Engine& engine, DatasetId dataset, const Range& range, std::byte* numbers);
TERRACE_STENCIL_PUBLIC void set(Engine& engine, DatasetId dataset, const Range& range, const std::byte* numbers);
TERRACE_STENCIL_PUBLIC void value_of(Engine& engine, ReductionId reduction, std::byte* number);
}  // namespace detail

template <class T>
std::string_view Dataset<T>::name() const {
  return detail::name_of(*engine_, id_);
}
template <class T>
Range Dataset<T>::range() const {
  return detail::range_of(*engine_, id_);
}
template <class T>
std::vector<T> Dataset<T>::get(const Range& range) const {
  std::vector<T> numbers(range.points());
  detail::get(*engine_, id_, range, reinterpret_cast<std::byte*>(numbers.data()));
  return numbers;
}
template <class T>
void Dataset<T>::set(const Range& range, std::span<const T> numbers) {
  if (numbers.size() != range.points()) throw std::invalid_argument("as many numbers as the range has points");
  detail::set(*engine_, id_, range, reinterpret_cast<const std::byte*>(numbers.data()));
}
template <class T>
T Reduction<T>::value() const {
  T number{};
  detail::value_of(*engine_, id_, reinterpret_cast<std::byte*>(&number));
  return number;
}

}  // namespace terrace::stencil
