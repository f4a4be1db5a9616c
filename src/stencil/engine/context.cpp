// SPDX-License-Identifier: Apache-2.0
// Forwards the public API (Context, Block, Dataset, Reduction) to the engine; user programs call it. See
// terrace/stencil/context.hpp.
#include "terrace/stencil/context.hpp"

#include <stdexcept>
#include <string>
#include <utility>

#include "stencil/engine/engine.hpp"
#include "terrace/stencil/ranks.hpp"

namespace terrace::stencil {

Context::Context(const Options& options) : engine_(std::make_unique<Engine>(options)) {}
Context::Context(std::unique_ptr<Engine> engine) : engine_(std::move(engine)) {}
Context::~Context() = default;
Context::Context(Context&&) noexcept = default;
Context& Context::operator=(Context&&) noexcept = default;

Context distributed(std::unique_ptr<Ranks> ranks, const Options& options) {
  return Context(std::make_unique<Engine>(options, std::move(ranks)));
}

Engine& Context::own() const {
  if (!engine_)
    throw std::invalid_argument("a Context that was moved from is used: use the Context that it was moved to");
  return *engine_;
}

Block Context::block(const std::string& name, const std::vector<std::ptrdiff_t>& size) {
  auto& engine = own();
  const auto id = engine.add_block(name, size);
  return {&engine, id, engine.range_of_block(id)};
}

void Context::run() { own().run(); }
const Statistics& Context::statistics() const { return own().statistics(); }
const Options& Context::options() const { return own().options(); }
const Chain& Context::waiting() const { return own().waiting(); }
Engine& Context::engine() { return own(); }
ReductionId Context::add_reduction(ReductionKind kind, Number number) { return own().add_reduction(kind, number); }

DatasetId Block::add_dataset(const std::string& name, std::size_t element, const Halo& halo,
                             std::optional<Number> number, bool is_temporary,
                             const std::vector<Range>& kept) const {
  if (!engine_) detail::refuse_block("dataset", name);
  return engine_->add_dataset(id_, name, element, halo, number, is_temporary, kept);
}
void Block::add(Loop loop) const { engine_->add_loop(std::move(loop)); }

namespace detail {

std::string_view name_of(const Engine& engine, DatasetId dataset) { return engine.info(dataset).name; }
Range range_of(const Engine& engine, DatasetId dataset) { return engine.info(dataset).range; }
void check_range(const Engine& engine, DatasetId dataset, const Range& range) { engine.check(range, dataset); }
void refuse_count(const Engine& engine, DatasetId dataset, const Range& range, std::size_t count) {
  throw std::invalid_argument("dataset '" + engine.info(dataset).name + "': " + std::to_string(count) +
                              " values were passed for the " + std::to_string(range.points()) + " points of " +
                              text_of(range) + ": pass one for each point");
}
void refuse_block(const std::string& what, const std::string& name) {
  throw std::invalid_argument(what + " '" + name +
                              "': its block was made by Block() and belongs to no context: take one of "
                              "Context::block()");
}
void refuse_argument(const std::string& loop, std::size_t argument) {
  throw std::invalid_argument(
      "loop '" + loop + "': argument " + std::to_string(argument) +
      " behind the kernel does not belong to the context of the loop's block: pass one of that context");
}
void get(Engine& engine, DatasetId dataset, const Range& range, std::byte* values) {
  engine.check_kept(dataset, range);
  engine.get(dataset, range, values);
}
void set(Engine& engine, DatasetId dataset, const Range& range, const std::byte* values) {
  engine.check_kept(dataset, range);
  engine.set(dataset, range, values);
}
void transfer(Engine& engine, DatasetId from, const Range& from_range, DatasetId to, const Range& to_range,
              const Orientation& orientation) {
  engine.add_transfer({from, from_range, to, to_range, orientation});
}
void keep_names_apart(Engine& engine) { engine.keep_names_apart(); }
void value_of(Engine& engine, ReductionId reduction, std::byte* number) { engine.value_of(reduction, number); }

}  // namespace detail
}  // namespace terrace::stencil
