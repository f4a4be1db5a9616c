// SPDX-License-Identifier: Apache-2.0
// Resolves names of parts while a machine file is parsed, and reads its measurements. See part_names.hpp.
#include "machine/file/part_names.hpp"

#include "machine/nearest_name.hpp"

namespace terrace::machine {
namespace {

// Reads a name and checks that it is known.
std::string known_name(const NameIndex& names, const TomlTable& table, std::string_view key) {
  static_cast<void>(names.find(table, key));  // throws if it is unknown
  return table.name(key);
}

}  // namespace

void NameIndex::add(const TomlTable& table, std::string_view key, const std::string& name) {
  if (!index_.emplace(name, names_.size()).second) {
    table.refuse(key, "a second " + std::string(what_) + " is called '" + name + "'; names must be unique");
  }
  names_.push_back(name);
}

std::uint16_t NameIndex::find(const TomlTable& table, std::string_view key) const {
  const auto name = table.name(key);
  const auto it = index_.find(name);
  if (it != index_.end()) return static_cast<std::uint16_t>(it->second);
  const auto nearest = nearest_name(name, names_);
  const auto advice =
      nearest.empty() ? "; add it, or name one that there is" : "; did you mean '" + nearest + "'?";
  table.refuse(key, "there is no " + std::string(what_) + " '" + name + "'" + advice);
}

namespace {

// Files of earlier versions have no `best`: their figures are derived from the median.
Spread read_time_spread(const TomlTable& entry) {
  const double median = entry.time_or_zero("median").value;
  return {median, entry.time_or_zero("spread").value,
          entry.has("best") ? entry.time_or_zero("best").value : median};
}

Spread read_bandwidth_spread(const TomlTable& entry) {
  const double median = entry.bandwidth("median").value;
  return {median, entry.bandwidth_or_zero("spread").value,
          entry.has("best") ? entry.bandwidth("best").value : median};
}

}  // namespace

Measurement read_measurement(const TomlTable& table, const PartNameIndices& names) {
  table.allow_only(
      {"fingerprint", "date", "processor", "repetitions", "notes", "time", "bandwidth", "latency", "copier"});
  Measurement measured;
  measured.date = table.text("date");
  measured.processor = table.text("processor");
  measured.repetitions = static_cast<std::uint32_t>(table.integer("repetitions", 1, 1 << 20));
  if (table.has("notes")) measured.notes = table.texts("notes");
  for (const auto& entry : table.entries("time")) {
    entry.allow_only({"initiator", "figure", "median", "spread", "best"});
    measured.times.push_back(
        {names.initiators.find(entry, "initiator"), entry.name("figure"), read_time_spread(entry)});
  }
  for (const auto& entry : table.entries("bandwidth")) {
    entry.allow_only({"initiator", "place", "threads", "kernel", "median", "spread", "best"});
    measured.bandwidths.push_back({names.initiators.find(entry, "initiator"), names.places.find(entry, "place"),
                                   static_cast<std::uint32_t>(entry.integer("threads", 1, 1 << 24)),
                                   entry.name("kernel"), read_bandwidth_spread(entry)});
  }
  for (const auto& entry : table.entries("latency")) {
    entry.allow_only({"initiator", "place", "pages", "load", "median", "spread", "best"});
    measured.latencies.push_back({names.initiators.find(entry, "initiator"), names.places.find(entry, "place"),
                                  entry.name("pages"), read_time_spread(entry),
                                  entry.has("load") ? entry.bandwidth("load").value : 0});
  }
  for (const auto& entry : table.entries("copier")) {
    entry.allow_only({"copier", "what", "pages", "size", "median", "spread", "best"});
    measured.copiers.push_back({known_name(names.copiers, entry, "copier"), entry.name("what"),
                                entry.name("pages"), entry.size("size"), read_time_spread(entry)});
  }
  return measured;
}

}  // namespace terrace::machine
