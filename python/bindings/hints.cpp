// SPDX-License-Identifier: Apache-2.0
// Binds hints (the user's statements on the use of objects, --hints) and their expressions, for `terrace plan`.
#include "strategy/hints/hints.hpp"

#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <set>

#include "bindings.hpp"
#include "core/error.hpp"
#include "core/segment_name.hpp"
#include "strategy/files/hints_file.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace terrace::python {
namespace {

using strategy::Expression;
using strategy::Hints;
using Numbers = std::map<std::string, double>;

// Evaluates an expression. Throws Error{invalid} for a name without a value.
double value_of(const Expression& expression, const Numbers& values, const Numbers& sizes) {
  const auto in = [](const Numbers& numbers) {
    return [&numbers](const std::string& name) {
      const auto found = numbers.find(name);
      return found == numbers.end() ? std::nullopt : std::optional(found->second);
    };
  };
  const auto outcome = expression.evaluate({in(values), in(sizes)});
  if (!outcome.problem.empty()) throw Error(Code::invalid, "'" + expression.text() + "': " + outcome.problem);
  return outcome.value;
}

nb::list counts_of(const Hints& hints) {
  nb::list counts;
  for (const auto& count : hints.counts) counts.append(nb::make_tuple(count.object, count.references.text()));
  return counts;
}

nb::list directives_of(const Hints& hints) {
  nb::list directives;
  for (const auto& one : hints.directives.all())
    directives.append(nb::make_tuple(one.phase, one.object, one.used));
  return directives;
}

// Returns a sentence for each name of the hints that the profile does not have.
std::vector<std::string> unused(const Hints& hints, const profile::Profile& profile) {
  std::vector<std::string> objects;
  for (const auto& object : profile.objects) objects.push_back(object.name);
  std::set<std::string> phases;
  for (const auto& iteration : profile.iterations)
    for (const auto& phase : iteration.phases) phases.emplace(phase_of_segment(phase.name));
  return strategy::HintRegistry(hints).unused(objects, {phases.begin(), phases.end()});
}

}  // namespace

void bind_hints(nb::module_& module) {
  nb::class_<Expression>(module, "Expression", "An expression evaluated at run time: 2*nnz*niter.")
      .def(
          "__init__",
          [](Expression* self, const std::string& text) { new (self) Expression(Expression::parse(text)); },
          "text"_a)
      .def("value", &value_of, "values"_a = Numbers{}, "sizes"_a = Numbers{},
           "Evaluates with values and object sizes (bytes) by name. Raises InvalidError for missing ones.")
      .def_prop_ro("text", &Expression::text)
      .def_prop_ro("names", &Expression::names);
  nb::class_<Hints>(module, "Hints", "Knowledge about a program that needs no profile.")
      .def_static(
          "parse",
          [](const std::string& text, const std::string& file) { return strategy::parse_hints(text, file); },
          "text"_a, "file"_a = "hints")
      .def_static(
          "read", [](const std::string& path) { return strategy::read_hints_file(path); }, "path"_a)
      .def_ro("values", &Hints::values)
      .def_prop_ro("refs", &counts_of)
      .def_prop_ro("directives", &directives_of)
      .def("unused", &unused, "profile"_a, "Returns a sentence for each name that is not in the profile.");
}

}  // namespace terrace::python
