// SPDX-License-Identifier: Apache-2.0
// Implements ordering_table.hpp.
#include "machine/file/ordering_table.hpp"

#include "machine/ordering.hpp"

namespace terrace::machine {

StatedOrdering read_ordering(const TomlTable& table, const NameIndex& initiators, const MachineParts& parts) {
  table.allow_only({"intent", "initiator", "places"});
  StatedOrdering ordering;
  ordering.intent = table.name("intent");
  if (table.has("initiator")) ordering.initiator = initiators.find(table, "initiator");
  for (auto& [names, list] : table.names_and_lists("places")) ordering.ranks.push_back({std::move(names), list});
  if (const auto problem = find_problem(ordering, parts.places)) table.refuse("places", *problem);
  for (const auto& other : parts.orderings) {
    if (other.intent != ordering.intent || other.initiator != ordering.initiator) continue;
    const auto whose = ordering.initiator ? "'" + parts.initiators[*ordering.initiator].name + "'"
                                          : std::string("all initiators");
    table.refuse("intent", "a second ordering for '" + ordering.intent + "' and " + whose + "; keep one");
  }
  return ordering;
}

Source read_source(const TomlTable& table, std::string_view key) {
  if (!table.has(key)) return Source::file;
  const auto word = table.name(key);
  if (const auto source = parse_source(word)) return *source;
  table.refuse(key, "'" + word + "' is no source; write file, measured, firmware, distance or kind");
}

}  // namespace terrace::machine
