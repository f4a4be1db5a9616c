// SPDX-License-Identifier: Apache-2.0
// Reads scopes, lines and static variables from DWARF, for the symbol files that the launcher writes. See
// symbols_facts.hpp.
//
// Walks all entries twice: first it records the namespace or class in which each function was declared, because
// inlined and out-of-line copies only refer to the declaration; then it collects code ranges and variables.
#include <dwarf.h>
#include <elfutils/libdw.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <unordered_map>

#include "observe/symbols/files/symbols_facts.hpp"
#include "observe/symbols/files/symbols_scopes.hpp"

namespace terrace::observe {

namespace {

// The enclosing scopes of an entry.
struct Context {
  bool standard = false;     // the C++ library's own
  bool of_template = false;  // a member of a class template's instance
  std::string type;          // the innermost class, without its namespaces
  std::string prefix;        // of static variables: "module.", "function."
};

std::string name_of(Dwarf_Die* die) {
  Dwarf_Attribute attribute;
  const char* const name = dwarf_formstring(dwarf_attr_integrate(die, DW_AT_name, &attribute));
  return name ? name : "";
}

std::uint64_t number_of(Dwarf_Die* die, unsigned name) {
  Dwarf_Attribute attribute;
  Dwarf_Word value = 0;
  return dwarf_formudata(dwarf_attr(die, name, &attribute), &value) == 0 ? value : 0;
}

bool type_of(Dwarf_Die* die, Dwarf_Die* type) {
  Dwarf_Attribute attribute;
  if (!dwarf_formref_die(dwarf_attr_integrate(die, DW_AT_type, &attribute), type)) return false;
  return dwarf_peel_type(type, type) == 0;
}

// Returns whether the return type can be an allocator's: a pointer, or an object that may contain one.
bool returns_memory(Dwarf_Die* function) {
  Dwarf_Die type;
  if (!type_of(function, &type)) return false;
  switch (dwarf_tag(&type)) {
    case DW_TAG_pointer_type:
    case DW_TAG_reference_type:
    case DW_TAG_class_type:
    case DW_TAG_structure_type:
      return true;
    default:
      return false;
  }
}

// Returns whether the first parameter is a pointer to the result, as of posix_memalign.
bool fills_pointer(Dwarf_Die* function) {
  // A clone may lack parameters or reorder them: use the original's.
  Dwarf_Attribute attribute;
  Dwarf_Die original = *function;
  if (!dwarf_formref_die(dwarf_attr(function, DW_AT_abstract_origin, &attribute), &original)) original = *function;
  Dwarf_Die child;
  Dwarf_Die type;
  if (dwarf_child(&original, &child) != 0) return false;
  do {
    if (dwarf_tag(&child) != DW_TAG_formal_parameter) continue;
    return type_of(&child, &type) && dwarf_tag(&type) == DW_TAG_pointer_type && type_of(&type, &type) &&
           dwarf_tag(&type) == DW_TAG_pointer_type;
  } while (dwarf_siblingof(&child, &child) == 0);
  return false;
}

// A change to names or to the set of allocators requires a new k_naming_version (symbols_facts.hpp).

// Returns a name such as "Grid::smooth"; a lambda has the name of its enclosing function.
std::string full_name(const std::string& name, const Context& declared) {
  if (declared.type.empty() && name == "operator()" && !declared.prefix.empty()) return declared.prefix + "lambda";
  return declared.type.empty() ? name : declared.type + "::" + name;
}

// Member functions by which a container allocates on behalf of its user.
bool is_container_member(const std::string& name, const Context& context) {
  if (!context.of_template) return false;
  static constexpr std::array k_names{"resize",       "reserve", "assign", "insert", "push_back",
                                      "emplace_back", "create",  "grow",   "init",   "operator="};
  return name == context.type.substr(0, context.type.find('<')) || name == "__ct" || name == "__ct_base" ||
         std::ranges::find(k_names, name) != k_names.end();
}

class DebugReader {
 public:
  explicit DebugReader(SymbolFacts& facts) : facts_(facts) {}
  void read(Dwarf* dwarf);

 private:
  void note_contexts(Dwarf_Die* parent, const Context& context);
  void collect(Dwarf_Die* parent, const Context& context, int scope, std::uint32_t depth);
  void collect_code(Dwarf_Die* die, int parent, std::uint32_t depth, const Context& context);
  void collect_variable(Dwarf_Die* die, const std::string& prefix, std::uint32_t flags);
  void collect_common(Dwarf_Die* block);
  void read_lines(Dwarf_Die* unit);
  void merge_variables();
  [[nodiscard]] Context inner(Dwarf_Die* die, const Context& outer) const;
  [[nodiscard]] const Context& declared_in(Dwarf_Die* function) const;
  [[nodiscard]] std::uint32_t file_name(std::uint64_t index) const;

  SymbolFacts& facts_;
  Dwarf_Files* files_ = nullptr;  // of the current unit
  std::size_t file_count_ = 0;
  std::unordered_map<Dwarf_Off, Context> contexts_;  // of functions
  std::vector<CodeScope> scopes_;
  std::vector<ScopeRange> ranges_;
  std::vector<LineRow> lines_;
  std::map<std::uint64_t, SymbolVariable> variables_;  // with better names than in the symbol table
  std::vector<std::uint64_t> common_blocks_;
};

// Returns the context of the entries below this one.
Context DebugReader::inner(Dwarf_Die* die, const Context& outer) const {
  Context context = outer;
  switch (dwarf_tag(die)) {
    case DW_TAG_namespace: {
      const auto name = name_of(die);
      context.standard |= name == "std" || name == "__gnu_cxx";
      break;
    }
    case DW_TAG_class_type:
    case DW_TAG_structure_type:
    case DW_TAG_union_type:
      context.type = name_of(die);
      context.of_template = context.type.find('<') != std::string::npos && !context.type.starts_with('<');
      break;
    case DW_TAG_module:
    case DW_TAG_subprogram:
      context.prefix = name_of(die) + ".";
      break;
    default:
      break;
  }
  return context;
}

// Records the context of each function's declaration below this entry: the first walk.
void DebugReader::note_contexts(Dwarf_Die* parent, const Context& context) {
  Dwarf_Die die;
  if (dwarf_child(parent, &die) != 0) return;
  do {
    if (dwarf_tag(&die) == DW_TAG_subprogram) contexts_.emplace(dwarf_dieoffset(&die), context);
    if (dwarf_haschildren(&die) > 0) note_contexts(&die, inner(&die, context));
  } while (dwarf_siblingof(&die, &die) == 0);
}

// Follows a copy of a function to its declaration.
const Context& DebugReader::declared_in(Dwarf_Die* function) const {
  static const Context k_none;
  const Context* found = &k_none;
  Dwarf_Die die = *function;
  for (int steps = 0; steps < 4; ++steps) {
    if (const auto at = contexts_.find(dwarf_dieoffset(&die)); at != contexts_.end()) found = &at->second;
    Dwarf_Attribute attribute;
    Dwarf_Die next;
    if (!dwarf_formref_die(dwarf_attr(&die, DW_AT_abstract_origin, &attribute), &next) &&
        !dwarf_formref_die(dwarf_attr(&die, DW_AT_specification, &attribute), &next))
      break;
    die = next;
  }
  return *found;
}

std::uint32_t DebugReader::file_name(std::uint64_t index) const {
  const char* const name = index < file_count_ ? dwarf_filesrc(files_, index, nullptr, nullptr) : nullptr;
  if (!name) return 0;
  const char* const slash = std::strrchr(name, '/');
  return facts_.strings.add(slash ? slash + 1 : name);
}

// Reads a function or an inlined function, with its nested scopes.
void DebugReader::collect_code(Dwarf_Die* die, int parent, std::uint32_t depth, const Context& context) {
  auto inside = parent;
  Dwarf_Addr base = 0;
  Dwarf_Addr low = 0;
  Dwarf_Addr high = 0;
  ptrdiff_t at = dwarf_ranges(die, 0, &base, &low, &high);
  if (at > 0) {
    const auto& declared = declared_in(die);
    const auto name = name_of(die);
    CodeScope scope;
    scope.name = facts_.strings.add(full_name(name, declared));
    scope.allocator = declared.standard || name.starts_with("operator new") ||
                      is_container_member(name, declared) ||
                      (is_allocator_name(name) && (returns_memory(die) || fills_pointer(die)));
    scope.depth = depth;
    if (dwarf_tag(die) == DW_TAG_inlined_subroutine) {
      scope.parent = parent;
      scope.call_file = file_name(number_of(die, DW_AT_call_file));
      scope.call_line = static_cast<std::uint32_t>(number_of(die, DW_AT_call_line));
    }
    inside = static_cast<int>(scopes_.size());
    scopes_.push_back(scope);
    for (; at > 0; at = dwarf_ranges(die, at, &base, &low, &high))
      if (high > low && low != 0) ranges_.push_back({low, high, inside});
  }
  collect(die, context, inside, depth + 1);
}

// Collects code ranges and variables below this entry: the second walk.
void DebugReader::collect(Dwarf_Die* parent, const Context& context, int scope, std::uint32_t depth) {
  Dwarf_Die die;
  if (dwarf_child(parent, &die) != 0) return;
  do {
    switch (dwarf_tag(&die)) {
      case DW_TAG_subprogram:
        collect_code(&die, -1, 0, inner(&die, context));
        break;
      case DW_TAG_inlined_subroutine:
        collect_code(&die, scope, depth, context);
        break;
      case DW_TAG_variable:
        collect_variable(&die, context.prefix, 0);
        break;
      case DW_TAG_common_block:
        collect_common(&die);
        break;
      case DW_TAG_lexical_block:
      case DW_TAG_try_block:
      case DW_TAG_catch_block:
      case DW_TAG_namespace:
      case DW_TAG_module:
      case DW_TAG_class_type:
      case DW_TAG_structure_type:
      case DW_TAG_union_type:
        collect(&die, inner(&die, context), scope, depth);
        break;
      default:
        break;
    }
  } while (dwarf_siblingof(&die, &die) == 0);
}

// Reads a variable at a fixed address.
void DebugReader::collect_variable(Dwarf_Die* die, const std::string& prefix, std::uint32_t flags) {
  Dwarf_Attribute attribute;
  Dwarf_Op* ops = nullptr;
  std::size_t count = 0;
  if (dwarf_getlocation(dwarf_attr(die, DW_AT_location, &attribute), &ops, &count) != 0) return;
  if (count == 0 || count > 2 || ops[0].atom != DW_OP_addr) return;
  auto address = ops[0].number;
  if (count == 2) {
    if (ops[1].atom != DW_OP_plus_uconst) return;
    address += ops[1].number;
  }
  Dwarf_Die type;
  Dwarf_Word size = 0;
  if (!dwarf_formref_die(dwarf_attr_integrate(die, DW_AT_type, &attribute), &type) ||
      dwarf_aggregate_size(&type, &size) != 0)
    return;
  const bool member = (flags & k_symbol_common) != 0;
  if (address == 0 || size == 0 || (!member && (prefix.empty() || size < k_min_variable))) return;
  // Each function that uses a COMMON block describes it; the first description is used.
  variables_.try_emplace(address, SymbolVariable{address, size, facts_.strings.add(prefix + name_of(die)), flags});
}

// Collects the members of a Fortran COMMON block as variables.
void DebugReader::collect_common(Dwarf_Die* block) {
  Dwarf_Attribute attribute;
  const char* symbol = dwarf_formstring(dwarf_attr(block, DW_AT_linkage_name, &attribute));
  const auto prefix = (symbol ? std::string(symbol) : name_of(block) + "_") + ".";
  Dwarf_Op* ops = nullptr;
  std::size_t count = 0;
  if (dwarf_getlocation(dwarf_attr(block, DW_AT_location, &attribute), &ops, &count) == 0 && count == 1 &&
      ops[0].atom == DW_OP_addr)
    common_blocks_.push_back(ops[0].number);
  Dwarf_Die member;
  if (dwarf_child(block, &member) != 0) return;
  do {
    if (dwarf_tag(&member) == DW_TAG_variable) collect_variable(&member, prefix, k_symbol_common);
  } while (dwarf_siblingof(&member, &member) == 0);
}

// Collects the rows of a unit's line table.
void DebugReader::read_lines(Dwarf_Die* unit) {
  Dwarf_Lines* lines = nullptr;
  std::size_t count = 0;
  if (dwarf_getsrclines(unit, &lines, &count) != 0) return;
  const char* last_path = nullptr;
  std::uint32_t last_file = 0;
  bool last_library = false;
  for (std::size_t i = 0; i < count; ++i) {
    Dwarf_Line* const line = dwarf_onesrcline(lines, i);
    LineRow row;
    int number = 0;
    if (dwarf_lineaddr(line, &row.address) != 0 || row.address == 0) continue;
    dwarf_lineno(line, &number);
    dwarf_lineendsequence(line, &row.end);
    if (const char* const path = dwarf_linesrc(line, nullptr, nullptr); path && path != last_path) {
      const char* const slash = std::strrchr(path, '/');
      last_file = facts_.strings.add(slash ? slash + 1 : path);
      last_path = path;
      last_library = std::strstr(path, "/include/c++/") != nullptr;
    }
    row.file = last_file;
    row.library = last_library;
    row.line = static_cast<std::uint32_t>(number);
    lines_.push_back(row);
  }
}

// Merges the variables of both sources: the debug information names a variable, else the symbol table does. The
// members of a COMMON block replace its own symbol. Where two variables overlap, the first one stays.
void DebugReader::merge_variables() {
  std::erase_if(facts_.variables, [&](const SymbolVariable& variable) {
    return std::ranges::find(common_blocks_, variable.low) != common_blocks_.end() ||
           variables_.contains(variable.low);
  });
  for (const auto& [address, variable] : variables_) facts_.variables.push_back(variable);
  std::ranges::stable_sort(facts_.variables, [](const auto& a, const auto& b) { return a.low < b.low; });
  std::uint64_t end = 0;
  std::erase_if(facts_.variables, [&](const SymbolVariable& variable) {
    if (variable.low < end) return true;
    end = variable.low + variable.size;
    return false;
  });
}

void DebugReader::read(Dwarf* dwarf) {
  const auto each_unit = [&](auto visit) {
    Dwarf_Off next = 0;
    std::size_t header = 0;
    for (Dwarf_Off offset = 0; dwarf_nextcu(dwarf, offset, &next, &header, nullptr, nullptr, nullptr) == 0;
         offset = next) {
      Dwarf_Die unit;
      if (dwarf_offdie(dwarf, offset + header, &unit)) visit(&unit);
    }
  };
  each_unit([&](Dwarf_Die* unit) { note_contexts(unit, {}); });
  each_unit([&](Dwarf_Die* unit) {
    files_ = nullptr;
    file_count_ = 0;
    if (dwarf_getsrcfiles(unit, &files_, &file_count_) != 0) file_count_ = 0;
    read_lines(unit);
    collect(unit, {}, -1, 0);
  });
  facts_.sites = flatten_scopes(scopes_, std::move(ranges_), std::move(lines_));
  merge_variables();
}

}  // namespace

void read_debug_information(Elf* elf, SymbolFacts& facts) {
  Dwarf* const dwarf = dwarf_begin_elf(elf, DWARF_C_READ, nullptr);
  if (!dwarf) return;
  DebugReader(facts).read(dwarf);
  dwarf_end(dwarf);
}

}  // namespace terrace::observe
