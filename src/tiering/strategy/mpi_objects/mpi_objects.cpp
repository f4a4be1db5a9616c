// SPDX-License-Identifier: Apache-2.0
// Matches mappings with the rows of tables of MPI objects, by file name, MPI function and size, for the agent's
// hooks and for analyses. Depends on libc alone. See mpi_objects.hpp.
#include "strategy/mpi_objects/mpi_objects.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <array>

namespace terrace::strategy {
namespace {

constexpr std::string_view k_deleted = " (deleted)";
constexpr double k_max_bytes = 9007199254740992.0;  // 2^53: above, doubles are no longer exact

constexpr std::array<std::string_view, k_num_mpi_object_kinds> k_kinds{
    "eager", "cells", "copy_buffers", "pools", "fifos", "windows", "alloc_mem", "control"};
constexpr std::array<std::string_view, 5> k_creations{"init", "window", "alloc_mem", "connection", "collective"};
constexpr std::array<std::string_view, 3> k_touches{"before", "inside", "later"};
constexpr std::array<std::string_view, 3> k_touchers{"owner", "peer", "program"};

template <class Value, std::size_t size>
std::optional<Value> find_name(const std::array<std::string_view, size>& names, std::string_view name) {
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) return std::nullopt;
  return static_cast<Value>(found - names.begin());
}

bool matches_any(const std::vector<std::string>& patterns, std::string_view text) {
  const std::string whole(text);
  return std::ranges::any_of(
      patterns, [&](const std::string& pattern) { return ::fnmatch(pattern.c_str(), whole.c_str(), 0) == 0; });
}

// Returns the text with each run of blanks as one blank.
std::string with_single_blanks(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\n') break;
    const char shown = c == '\t' ? ' ' : c;
    if (shown != ' ' || (!out.empty() && out.back() != ' ')) out += shown;
  }
  return out;
}

// Returns the name of a mapping as tables have it.
std::string_view table_name(std::string_view name) {
  if (name.ends_with(k_deleted)) name.remove_suffix(k_deleted.size());
  if (name.empty()) return k_anonymous_mapping;
  return name.starts_with("/SYSV") ? k_sysv_mapping : name;
}

std::uint64_t round_up(std::uint64_t bytes, std::uint64_t unit) { return (bytes + unit - 1) / unit * unit; }

bool refers_to_other_ranks(const Expression& formula) {
  return std::ranges::any_of(formula.names(),
                             [](const std::string& name) { return name == "total" || name == "rounded"; });
}

// Returns the request as if no other rank had requested anything.
MpiRequest own_request(const MpiRequest& request) {
  auto own = request;
  own.total = request.size;
  own.rounded = round_up(request.size, request.page_size);
  return own;
}

void put_all(BlobWriter& out, const std::vector<std::string>& texts) {
  out.put(static_cast<std::uint32_t>(texts.size()));
  for (const auto& text : texts) out.put(text);
}
std::vector<std::string> get_all(BlobReader& in) {
  std::vector<std::string> texts;
  for (auto n = in.get<std::uint32_t>(); n > 0; --n) texts.push_back(in.get_string());
  return texts;
}

// A byte other than 0 and 1 is no bool.
void put_flag(BlobWriter& out, bool flag) { out.put(static_cast<std::uint8_t>(flag)); }

template <class Value>
Value get_value(BlobReader& in, std::size_t count) {
  const auto value = in.get<std::uint8_t>();
  if (value >= count)
    throw Error(Code::corrupt,
                "a table of MPI objects is damaged: a value is out of range; start the program again");
  return static_cast<Value>(value);
}
bool get_flag(BlobReader& in) { return get_value<bool>(in, 2); }

void put_formula(BlobWriter& out, const std::optional<Expression>& formula) {
  put_flag(out, formula.has_value());
  if (formula) formula->to_blob(out);
}
std::optional<Expression> get_formula(BlobReader& in) {
  if (!get_flag(in)) return std::nullopt;
  return Expression::from_blob(in);
}

void put_object(BlobWriter& out, const MpiObject& object) {
  out.put(object.name);
  out.put(object.kind);
  put_all(out, object.mappings);
  put_all(out, object.functions);
  for (const auto* formula : {&object.size, &object.count, &object.header, &object.slice})
    put_formula(out, *formula);
  put_flag(out, object.max_message.has_value());
  out.put(object.max_message.value_or(0));
  out.put(object.created);
  out.put(object.touched);
  out.put(object.touched_by);
  put_flag(out, object.may_bind);
}

MpiObject get_object(BlobReader& in) {
  MpiObject object;
  object.name = in.get_string();
  object.kind = get_value<MpiObjectKind>(in, k_kinds.size());
  object.mappings = get_all(in);
  object.functions = get_all(in);
  for (auto* formula : {&object.size, &object.count, &object.header, &object.slice}) *formula = get_formula(in);
  const bool has_max = get_flag(in);
  const auto max_message = in.get<std::uint64_t>();
  if (has_max) object.max_message = max_message;
  object.created = get_value<MpiObjectCreation>(in, k_creations.size());
  object.touched = get_value<MpiTouch>(in, k_touches.size());
  object.touched_by = get_value<MpiToucher>(in, k_touchers.size());
  object.may_bind = get_flag(in);
  return object;
}

}  // namespace

std::string_view name_of(MpiObjectKind kind) { return k_kinds[static_cast<std::size_t>(kind)]; }
std::string_view name_of(MpiObjectCreation creation) { return k_creations[static_cast<std::size_t>(creation)]; }
std::string_view name_of(MpiTouch touch) { return k_touches[static_cast<std::size_t>(touch)]; }
std::string_view name_of(MpiToucher toucher) { return k_touchers[static_cast<std::size_t>(toucher)]; }

std::optional<MpiObjectKind> mpi_object_kind(std::string_view name) {
  return find_name<MpiObjectKind>(k_kinds, name);
}
std::optional<MpiObjectCreation> mpi_object_creation(std::string_view name) {
  return find_name<MpiObjectCreation>(k_creations, name);
}
std::optional<MpiTouch> mpi_touch(std::string_view name) { return find_name<MpiTouch>(k_touches, name); }
std::optional<MpiToucher> mpi_toucher(std::string_view name) { return find_name<MpiToucher>(k_touchers, name); }

std::optional<std::uint64_t> MpiObject::evaluate(const std::optional<Expression>& formula,
                                                 const MpiRequest& request) const {
  if (!formula || request.page_size == 0) return std::nullopt;
  const auto value = [&](const std::string& quantity) -> std::optional<double> {
    if (quantity == "N") return request.ranks;
    if (quantity == "P") return static_cast<double>(request.page_size);
    if (quantity == "size") return static_cast<double>(request.size);
    if (quantity == "total") return static_cast<double>(request.total.value_or(request.size * request.ranks));
    if (quantity == "rounded")
      return static_cast<double>(
          request.rounded.value_or(round_up(request.size, request.page_size) * request.ranks));
    return std::nullopt;
  };
  const auto nothing = [](const std::string&) { return std::nullopt; };
  const auto outcome = formula->evaluate({value, nothing});
  if (!outcome.problem.empty() || !(outcome.value >= 0 && outcome.value <= k_max_bytes)) return std::nullopt;
  return static_cast<std::uint64_t>(outcome.value);
}

bool MpiObjectTable::describes(std::string_view file_name, std::string_view version) const {
  const auto last = file_name.substr(file_name.rfind('/') + 1);  // npos + 1 is 0
  return matches_any(files, last) && matches_any(versions, with_single_blanks(version));
}

const MpiObject* MpiClassifier::classify(const MpiMapping& mapping) const {
  const auto& request = mapping.request;
  const auto name = table_name(mapping.name);
  const MpiObject* nearest = nullptr;
  for (const auto& table : tables_) {
    for (const auto& object : table.objects) {
      if (!matches_any(object.mappings, name)) continue;
      if (!object.functions.empty() &&
          std::ranges::find(object.functions, mapping.function) == object.functions.end())
        continue;
      if (!object.size) return &object;
      const auto size = object.evaluate(object.size, request);
      if (size && round_up(*size, request.page_size) == mapping.size) return &object;
      if (nearest || request.total || !refers_to_other_ranks(*object.size)) continue;
      const auto least = object.evaluate(object.size, own_request(request));
      if (least && mapping.size >= *least) nearest = &object;
    }
  }
  return nearest;
}

void MpiObjectTable::to_blob(BlobWriter& out) const {
  out.put(library);
  for (const auto* texts : {&versions, &files, &checked}) put_all(out, *texts);
  out.put(static_cast<std::uint32_t>(objects.size()));
  for (const auto& object : objects) put_object(out, object);
}

MpiObjectTable MpiObjectTable::from_blob(BlobReader& in) {
  MpiObjectTable table;
  table.library = in.get_string();
  for (auto* texts : {&table.versions, &table.files, &table.checked}) *texts = get_all(in);
  for (auto n = in.get<std::uint32_t>(); n > 0; --n) table.objects.push_back(get_object(in));
  return table;
}

}  // namespace terrace::strategy
