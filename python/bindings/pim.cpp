// SPDX-License-Identifier: Apache-2.0
// Binds processing in memory (PIM) for `terrace lab pim`: devices, their allocator, traces of its requests,
// fragmentation.
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <memory>

#include "bindings.hpp"
#include "core/error.hpp"
#include "pim/machine/machine_geometry.hpp"
#include "pim/trace/fragmentation.hpp"
#include "pim/trace/occupancy.hpp"
#include "pim/trace/replay.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace terrace::python {
namespace {

using pim::Allocator;
using pim::Fragmentation;
using pim::Geometry;
using pim::LargestFree;
using pim::Trace;

using Bits = nb::ndarray<nb::numpy, bool, nb::ndim<3>>;
using Cells = nb::ndarray<nb::numpy, std::uint8_t, nb::ndim<3>>;
using Position = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;  // device, subarray, row

// Hands values [device, row, subarray] over to NumPy.
template <class Array, class Value>
Array array_of(const Geometry& geometry, std::unique_ptr<Value[]> values) {
  const std::array<std::size_t, 3> shape{geometry.devices, geometry.rows, geometry.width()};
  auto* const raw = values.release();
  const nb::capsule owner(raw, [](void* held) noexcept { delete[] static_cast<Value*>(held); });
  return Array(raw, shape.size(), shape.data(), owner);
}

// Returns the value that a word names. Throws Error{invalid} with the known words.
template <class Value, std::size_t Count>
Value chosen(const std::string& word, const char* what,
             const std::array<std::pair<const char*, Value>, Count>& among) {
  std::string all;
  for (const auto& [name, value] : among) {
    if (word == name) return value;
    all += (all.empty() ? "" : ", ") + std::string(name);
  }
  throw Error(Code::invalid, std::string(what) + " '" + word + "': there are " + all);
}

pim::Dim dim_of(const std::string& word) {
  return chosen<pim::Dim, 2>(word, "dim", {{{"h", pim::Dim::horizontal}, {"v", pim::Dim::vertical}}});
}
pim::Within within_of(const std::string& word, const char* what) {
  return chosen<pim::Within, 3>(
      word, what,
      {{{"subarray", pim::Within::subarray}, {"bank", pim::Within::bank}, {"device", pim::Within::device}}});
}

Position position(const pim::Block& block) { return {block.device, block.subarray, block.row}; }

std::uint64_t allocate(Allocator& self, std::uint32_t rows, std::uint32_t subarrays, const std::string& dim,
                       const std::string& fit, const std::string& within,
                       std::pair<std::uint32_t, std::uint32_t> align, std::uint64_t beside,
                       const std::string& share) {
  pim::Request request;
  request.shape = {rows, subarrays};
  request.dim = dim_of(dim);
  request.fit = chosen<pim::Fit, 2>(fit, "fit", {{{"first", pim::Fit::first}, {"best", pim::Fit::best}}});
  request.within = within_of(within, "within");
  request.row_alignment = align.first;
  request.subarray_alignment = align.second;
  request.beside = {beside};
  request.share = within_of(share, "share");
  return self.allocate(request).value;
}

std::string release(Allocator& self, std::uint64_t handle) {
  constexpr const char* k_words[] = {"done", "already", "foreign"};
  return k_words[static_cast<std::size_t>(self.release({handle}))];
}

std::optional<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>> block_of(
    const Allocator& self, std::uint64_t handle) {
  const auto block = self.block({handle});
  if (!block) return std::nullopt;
  return std::tuple(block->device, block->subarray, block->row, block->shape.rows, block->shape.subarrays);
}

// Returns which units are free, [device, row, subarray].
Bits snapshot(const Allocator& self) {
  const auto& geometry = self.geometry();
  auto free = std::make_unique<bool[]>(geometry.units());
  auto* at = free.get();
  for (const auto& board : self.snapshot())
    for (std::uint32_t row = 0; row < board.rows(); ++row)
      for (std::uint32_t subarray = 0; subarray < board.subarrays(); ++subarray)
        *at++ = board.is_free(row, subarray);
  return array_of<Bits>(geometry, std::move(free));
}

// Result and final state of a replay.
struct Replayed {
  Geometry geometry;
  pim::ReplaySummary summary;
  Fragmentation fragmentation;  // at its end
  struct Sample {
    std::size_t operations = 0;
    std::array<std::uint64_t, 2> used{};
    std::uint64_t failures = 0;
    std::array<double, 3> fragmentation{};
  };
  std::vector<Sample> samples;
};

// Replays a trace, and samples occupancy and fragmentation at so many points.
Replayed replay(const Trace& trace, const std::optional<Geometry>& device, std::size_t samples,
                const std::optional<std::size_t>& until) {
  const nb::gil_scoped_release released;
  Replayed replayed;
  replayed.geometry = device.value_or(trace.geometry);
  Allocator allocator(replayed.geometry);
  const auto every = samples > 0 ? std::max<std::size_t>(1, trace.operations.size() / samples) : 0;
  std::size_t next = every;
  const auto sample = [&](const pim::ReplaySummary& so_far) {
    const auto now = pim::fragmentation_of(allocator.snapshot());
    replayed.samples.push_back(
        {so_far.operations,
         so_far.used,
         so_far.failures,
         {now.rectangle.fragmentation, now.horizontal.fragmentation, now.vertical.fragmentation}});
  };
  if (samples > 0) sample({});
  const auto watch = [&](const pim::ReplaySummary& so_far) {
    if (every == 0 || so_far.operations < next) return;
    next = so_far.operations + every;
    sample(so_far);
  };
  replayed.summary = pim::replay(trace, allocator, watch, until.value_or(std::numeric_limits<std::size_t>::max()));
  if (samples > 0 && replayed.samples.back().operations < replayed.summary.operations) sample(replayed.summary);
  replayed.fragmentation = pim::fragmentation_of(allocator.snapshot());
  return replayed;
}

// Returns the map of blocks at the end of a replay.
Cells occupancy(const Replayed& self) {
  std::vector<pim::LiveBlock> blocks;
  for (const auto& [id, live] : self.summary.live) blocks.push_back(live);
  const auto cells = pim::occupancy_of(self.geometry, std::move(blocks));
  auto values = std::make_unique<std::uint8_t[]>(cells.size());
  std::ranges::copy(cells, values.get());
  return array_of<Cells>(self.geometry, std::move(values));
}

nb::list differences(const Replayed& self) {
  nb::list rows;
  for (const auto& one : self.summary.differences)
    rows.append(nb::make_tuple(one.line, one.id, describe(one.recorded), describe(one.replayed)));
  return rows;
}

nb::list samples(const Replayed& self) {
  nb::list rows;
  for (const auto& one : self.samples)
    rows.append(nb::make_tuple(one.operations, nb::make_tuple(one.used[0], one.used[1]), one.failures,
                               nb::make_tuple(one.fragmentation[0], one.fragmentation[1], one.fragmentation[2])));
  return rows;
}

void bind_geometry(nb::module_& module) {
  nb::class_<Geometry>(module, "PimGeometry", "Geometry of processing-in-memory (PIM) devices. Columns are bits.")
      .def(
          "__init__",
          [](Geometry* self, std::uint32_t rows, std::uint32_t columns, std::uint32_t subarrays,
             std::uint32_t banks, std::uint32_t devices) {
            const Geometry geometry{rows, columns, subarrays, banks, devices};
            pim::check(geometry);
            new (self) Geometry(geometry);
          },
          "rows"_a, "columns"_a, "subarrays"_a, "banks"_a, "devices"_a = 1)
      .def_static("of_machine", &pim::device_of, "machine"_a, "place"_a = "",
                  "Returns the geometry of a machine's place, by default of its first PIM place.")
      .def_ro("rows", &Geometry::rows)
      .def_ro("columns", &Geometry::columns)
      .def_ro("subarrays", &Geometry::subarrays, "Of a bank.")
      .def_ro("banks", &Geometry::banks, "Of a device.")
      .def_ro("devices", &Geometry::devices)
      .def_prop_ro("width", &Geometry::width, "Subarrays of a device.")
      .def_prop_ro("units", &Geometry::units, "Rows of all subarrays of all devices.")
      .def_prop_ro(
          "row_bytes", [](const Geometry& self) { return self.row_bytes().value; }, "Bytes of a unit.")
      .def_prop_ro("capacity", [](const Geometry& self) { return self.capacity().value; })
      .def(
          "shape_of",
          [](const Geometry& self, std::uint64_t size, const std::string& dim) {
            const auto shape = pim::shape_of(self, Bytes{size}, dim_of(dim));
            return std::pair(shape.rows, shape.subarrays);
          },
          "size"_a, "dim"_a = "h", "Returns rows and subarrays of a block of that many bytes.")
      .def("__eq__", [](const Geometry& self, const Geometry& other) { return self == other; })
      .def("__str__", [](const Geometry& self) { return pim::describe(self); });
}

void bind_fragmentation(nb::module_& module) {
  nb::class_<LargestFree>(module, "PimLargestFree", "The largest free rectangle of one shape.")
      .def_prop_ro("units", &LargestFree::units)
      .def_prop_ro("rows", [](const LargestFree& self) { return self.block.shape.rows; })
      .def_prop_ro("subarrays", [](const LargestFree& self) { return self.block.shape.subarrays; })
      .def_prop_ro(
          "position", [](const LargestFree& self) { return position(self.block); }, "Device, subarray, row.")
      .def_ro("fragmentation", &LargestFree::fragmentation);
  nb::class_<Fragmentation>(module, "PimFragmentation", "Fragmentation of the free memory, by shape of blocks.")
      .def_ro("units", &Fragmentation::units)
      .def_ro("free", &Fragmentation::free)
      .def_ro("rectangle", &Fragmentation::rectangle)
      .def_ro("horizontal", &Fragmentation::horizontal)
      .def_ro("vertical", &Fragmentation::vertical);
}

void bind_allocator(nb::module_& module) {
  nb::class_<Allocator>(module, "PimAllocator", "Allocates rectangles of a device's memory.")
      .def(nb::init<const Geometry&, std::uint8_t>(), "geometry"_a, "tag"_a = 1)
      .def("allocate", &allocate, "rows"_a, "subarrays"_a, "dim"_a = "h", "fit"_a = "first", "within"_a = "device",
           "align"_a = std::pair<std::uint32_t, std::uint32_t>(1, 1), "beside"_a = 0, "share"_a = "subarray",
           nb::call_guard<nb::gil_scoped_release>(),
           "Returns a handle, or 0 if full. `align`: rows and subarrays of which the position is a multiple.")
      .def("release", &release, "handle"_a, "\"done\", \"already\" or \"foreign\".")
      .def("block", &block_of, "handle"_a,
           "Returns device, subarray (across banks), row, rows, subarrays; None for a dead handle.")
      .def_prop_ro("geometry", &Allocator::geometry)
      .def_prop_ro("free_units", &Allocator::free_units)
      .def("snapshot", &snapshot, "Returns the free units as booleans [device, row, subarray].")
      .def(
          "fragmentation", [](const Allocator& self) { return pim::fragmentation_of(self.snapshot()); },
          nb::call_guard<nb::gil_scoped_release>());
}

void bind_replay(nb::module_& module) {
  nb::class_<Trace>(module, "PimTrace", "The requests to an allocator, in order.")
      .def_static(
          "parse", [](const std::string& text, const std::string& file) { return pim::parse_trace(text, file); },
          "text"_a, "file"_a = "trace")
      .def_static(
          "read", [](const std::string& path) { return pim::read_trace(path); }, "path"_a)
      .def_ro("geometry", &Trace::geometry)
      .def("__len__", [](const Trace& self) { return self.operations.size(); })
      .def("__str__", &pim::format_trace);
  nb::class_<Replayed>(module, "PimReplay", "Result of a replay.")
      .def_ro("geometry", &Replayed::geometry)
      .def_prop_ro("operations", [](const Replayed& self) { return self.summary.operations; })
      .def_prop_ro("allocations", [](const Replayed& self) { return self.summary.allocations; })
      .def_prop_ro("releases", [](const Replayed& self) { return self.summary.releases; })
      .def_prop_ro(
          "failures", [](const Replayed& self) { return self.summary.failures; }, "Failed allocations.")
      .def_prop_ro(
          "used", [](const Replayed& self) { return nb::make_tuple(self.summary.used[0], self.summary.used[1]); },
          "Units at the end, by horizontal and vertical blocks.")
      .def_prop_ro("blocks", [](const Replayed& self) { return self.summary.live.size(); })
      .def_prop_ro(
          "peak", [](const Replayed& self) { return self.summary.peak; }, "Units at peak occupancy.")
      .def_prop_ro(
          "peak_operations", [](const Replayed& self) { return self.summary.peak_operations; },
          "Operations up to the peak; a value for `until`.")
      .def_prop_ro("compared", [](const Replayed& self) { return self.summary.compared; })
      .def_prop_ro("differ", [](const Replayed& self) { return self.summary.differ; })
      .def_prop_ro("differences", &differences, "(line, block, recorded, replayed) of the first 100.")
      .def_ro("fragmentation", &Replayed::fragmentation)
      .def_prop_ro("samples", &samples,
                   "(operations, used by direction, failures, fragmentation of rectangles and by direction).")
      .def("occupancy", &occupancy,
           "[device, row, subarray]: 0 free, 1 to 3 shades of horizontal blocks, 4 to 6 of vertical ones.");
  module.def("replay_pim", &replay, "trace"_a, "geometry"_a = nb::none(), "samples"_a = 0, "until"_a = nb::none(),
             "Replays the trace on a new allocator, for its own or another device, up to `until` operations.");
}

}  // namespace

void bind_pim(nb::module_& module) {
  bind_geometry(module);
  bind_fragmentation(module);
  bind_allocator(module);
  bind_replay(module);
}

}  // namespace terrace::python
