// SPDX-License-Identifier: Apache-2.0
// Reads the tables of backing files, orderings and copiers for the parser of machine files. See part_tables.hpp.
#include "machine/file/part_tables.hpp"

#include "machine/ordering.hpp"

namespace terrace::machine {

void read_files(const std::vector<TomlTable>& tables, const NameIndex& places, MachineParts& parts) {
  NameIndex names("file");
  for (const auto& table : tables) {
    table.allow_only({"name", "beside", "read", "write", "latency", "requests"});
    BackingFile file;
    file.name = table.name("name");
    names.add(table, "name", file.name);
    file.beside = places.find(table, "beside");
    file.read = table.bandwidth("read");
    file.write = table.bandwidth("write");
    file.latency = table.time("latency");
    file.requests = static_cast<std::uint32_t>(table.integer("requests", 1, k_max_requests));
    for (const auto& place : parts.places)
      if (place.name == file.name)
        table.refuse("name", "a place is called '" + file.name + "'; name it otherwise");
    for (const auto& other : parts.files)
      if (other.beside == file.beside)
        table.refuse("beside",
                     "'" + other.name + "' backs '" + parts.places[file.beside].name + "' already; keep one");
    parts.files.push_back(file);
  }
}

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

namespace {

std::vector<PagePrice> read_page_prices(const TomlTable& table) {
  std::vector<PagePrice> pages;
  for (const auto& page : table.entries("pages")) {
    page.allow_only({"page", "remap"});
    const PagePrice price{page.size("page"), page.time_or_zero("remap")};
    if (!pages.empty() && price.page <= pages.back().page)
      page.refuse("page", "pages ascend; put " + format(price.page) + " before " + format(pages.back().page));
    pages.push_back(price);
  }
  return pages;
}

}  // namespace

CopierPrice read_copier(const TomlTable& table) {
  table.allow_only({"name", "piece", "call", "pages", "stall", "trap", "threads", "lines"});
  CopierPrice copier;
  copier.name = table.name("name");
  for (const auto& key : table.keys())
    if (copier.name == k_ideal_copier && key != "name")
      table.refuse(key, "the copier '" + copier.name + "' costs bytes alone; name one that costs more otherwise");
  if (table.has("piece")) copier.piece = table.size("piece");
  if (table.has("call")) copier.call = table.time_or_zero("call");
  copier.pages = read_page_prices(table);
  if (table.has("stall")) copier.stall = table.time_or_zero("stall");
  if (table.has("trap")) copier.trap = table.time_or_zero("trap");
  if (table.has("threads"))
    copier.threads = static_cast<std::uint32_t>(table.integer("threads", 0, k_max_mover_threads));
  if (table.has("lines")) copier.lines = table.number("lines", 1);
  if (copier.lines > 0 && copier.threads == 0)
    table.refuse("lines", "they are in flight in threads; say how many with threads");
  return copier;
}

}  // namespace terrace::machine
