// SPDX-License-Identifier: Apache-2.0
// Binds a writer of profiles from other tools' measurements for `terrace import`: it writes a journal (the file of
// records that the runtime writes), which is merged like any other.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <utility>

#include "bindings.hpp"
#include "core/blob.hpp"
#include "core/error.hpp"
#include "core/journal.hpp"
#include "machine/discover/discovery.hpp"
#include "machine/machine.hpp"
#include "profile/records.hpp"
#include "profile/store/store.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace terrace::python {
namespace {

observe::ObjectKind kind_named(const std::string& name) {
  using observe::ObjectKind;
  constexpr std::pair<const char*, ObjectKind> k_kinds[] = {
      {"heap", ObjectKind::heap},     {"mapping", ObjectKind::mapping}, {"fixed", ObjectKind::fixed},
      {"common", ObjectKind::common}, {"stack", ObjectKind::stack},     {"small", ObjectKind::small},
      {"named", ObjectKind::named}};
  for (const auto& [text, kind] : k_kinds)
    if (name == text) return kind;
  throw Error(Code::invalid,
              "object kind '" + name + "' is unknown; known: heap, mapping, fixed, common, stack, small, named");
}

// Writes one loop with one iteration, in the order run, objects, loop, phases, end.
class ProfileWriter {
 public:
  explicit ProfileWriter(const std::string& path) : journal_(path) {}

  void run(std::uint32_t process, const std::string& program, std::vector<std::string> arguments,
           const machine::Machine& machine) {
    profile::RunRecord record;
    record.process = process;
    record.host = "(imported)";
    record.program = program;
    record.arguments = std::move(arguments);
    record.backend = "real";
    record.mode = "import";
    record.progress = "timer";
    profile::append(journal_, record);
    BlobWriter blob;
    machine.to_blob(blob);
    const auto bytes = blob.bytes();
    profile::append(journal_, profile::MachineRecord{{reinterpret_cast<const char*>(bytes.data()), bytes.size()}});
    home_ = machine.domains().front().places.empty() ? PlaceId{0} : machine.home(0);
  }

  // Adds an object, whose chunks follow those of the previous objects. Returns the number of its first chunk.
  ChunkId object(const std::string& name, const std::string& kind, std::uint64_t size, std::uint64_t chunk_size,
                 std::uint64_t address) {
    if (size == 0 || chunk_size == 0)
      throw Error(Code::invalid, "object '" + name + "': size " + std::to_string(size) + ", chunk size " +
                                     std::to_string(chunk_size) + "; pass both above 0");
    profile::ObjectRecord record;
    record.object = {objects_++,
                     name,
                     kind_named(kind),
                     Bytes{size},
                     Bytes{chunk_size},
                     next_chunk_,
                     static_cast<std::uint32_t>((size + chunk_size - 1) / chunk_size),
                     true};
    record.places.assign(record.object.chunks, home_);
    record.address = address;
    profile::append(journal_, record);
    const auto first = next_chunk_;
    next_chunk_ += record.object.chunks;
    return first;
  }

  void loop(const std::string& name, double at) { profile::append(journal_, profile::LoopRecord{name, {at}}); }

  // Adds cells: chunks in ascending order; the other arrays have the same length.
  void phase(const std::string& name, double begun, double ended, double core, double samples,
             double samples_with_access, double unowned_lines, const std::vector<ChunkId>& chunks,
             const std::vector<double>& reads, const std::vector<double>& writes,
             const std::vector<double>& exposures, const std::vector<double>& cell_samples,
             const std::vector<double>& squares) {
    for (const auto* column : {&reads, &writes, &exposures, &cell_samples, &squares})
      if (column->size() != chunks.size())
        throw Error(Code::invalid, "phase '" + name + "': a column has " + std::to_string(column->size()) +
                                       " values for " + std::to_string(chunks.size()) +
                                       " chunks; pass one value for each chunk");
    observe::Phase phase;
    phase.name = name;
    phase.time = {ended - begun};
    phase.core = {core};
    phase.samples = samples;
    phase.samples_with_access = samples_with_access;
    phase.unowned_lines = unowned_lines;
    for (std::size_t i = 0; i < chunks.size(); ++i) {
      if (chunks[i] >= next_chunk_ || (i > 0 && chunks[i] <= chunks[i - 1]))
        throw Error(Code::invalid,
                    "phase '" + name + "': chunk " + std::to_string(chunks[i]) +
                        " is unknown or out of order; pass known chunks in ascending order, each once");
      phase.cells.push_back({chunks[i], reads[i], writes[i], exposures[i], cell_samples[i], squares[i]});
    }
    const auto index = static_cast<PhaseIndex>(iteration_.phases.size());
    profile::append(journal_, profile::PhaseRecord{0, index, name, {begun}, {ended}, {}});
    iteration_.phases.push_back(std::move(phase));
  }

  void note(const std::string& severity, const std::string& text) {
    profile::append(journal_, profile::NoteRecord{severity, text, {}});
  }

  void end(double at) {
    profile::append(journal_, profile::IterationRecord{false, std::move(iteration_),
                                                       std::vector<PlaceId>(next_chunk_, home_)});
    profile::append(journal_, profile::LoopEndRecord{{at}, 1, 1});
    profile::append(journal_, profile::EndRecord{{at}, "exit"});
    if (journal_.lost() > 0)
      throw Error(Code::failed,
                  journal_.path() + ": this profile could not be written completely: free space on its disk");
  }

 private:
  Journal journal_;
  PlaceId home_ = 0;
  ObjectId objects_ = 0;
  ChunkId next_chunk_ = 0;
  observe::Iteration iteration_;
};

}  // namespace

void bind_profile_writer(nb::module_& module) {
  nb::class_<ProfileWriter>(module, "ProfileWriter",
                            "Writes a journal of another tool's measurement: one loop with one iteration.")
      .def(nb::init<const std::string&>(), "path"_a)
      .def("run", &ProfileWriter::run, "process"_a, "program"_a, "arguments"_a, "machine"_a)
      .def("object", &ProfileWriter::object, "name"_a, "kind"_a, "size"_a, "chunk_size"_a, "address"_a,
           "Adds an object; returns the number of its first chunk.")
      .def("loop", &ProfileWriter::loop, "name"_a, "at"_a)
      .def("phase", &ProfileWriter::phase, "name"_a, "begun"_a, "ended"_a, "core"_a, "samples"_a,
           "samples_with_access"_a, "unowned_lines"_a, "chunks"_a, "reads"_a, "writes"_a, "exposures"_a,
           "cell_samples"_a, "squares"_a)
      .def("note", &ProfileWriter::note, "severity"_a, "text"_a)
      .def("end", &ProfileWriter::end, "at"_a);
  nb::class_<profile::StoreName>(module, "ProfileName", "File name of a profile.")
      .def_static("next_free", &profile::StoreName::next_free, "path"_a,
                  "Chooses the name, or the next free one if it is taken.")
      .def_static("given", &profile::StoreName::requested, "path"_a,
                  "Uses the user's name; an existing profile is replaced.");
  module.def(
      "merge_journals",
      [](const std::vector<std::string>& journals, const profile::StoreName& name) {
        return profile::merge_journals(journals, name).path;
      },
      "journals"_a, "name"_a, "Merges the journals; returns the file name.");
  module.def(
      "memory_at_home",
      [](const machine::Machine& self) {
        const auto home = self.home(0);
        const auto initiator = self.domains().front().initiator;
        const auto& path = self.path(initiator, home);
        const auto& cores = self.initiators()[initiator];
        return nb::make_tuple(self.parts().line.value, path.latency.value, path.read.value, cores.frequency_hz);
      },
      "machine"_a,
      "Returns line size, latency, bandwidth and Hz of the first domain's default place and initiator.");
  module.def("this_machine", &machine::discover, "Returns the description of this machine.");
}

}  // namespace terrace::python
