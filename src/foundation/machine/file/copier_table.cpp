// SPDX-License-Identifier: Apache-2.0
// Implements copier_table.hpp.
#include "machine/file/copier_table.hpp"

namespace terrace::machine {

namespace {

std::vector<PagePrice> read_pages(const TomlTable& table) {
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
  copier.pages = read_pages(table);
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
