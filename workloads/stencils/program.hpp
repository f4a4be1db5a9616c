// Interface of the stencil programs: codes on structured meshes, written with terrace/stencil.hpp, with
// reference results. Each is one file in programs/ that defines `const StencilProgram& NAME_program()`; the
// build generates their table (cmake/Variants.cmake). One executable runs them all (main.cpp).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stencil/virtual/virtual_run.hpp"
#include "terrace/stencil.hpp"

namespace terrace::stencil::programs {

// The user's arguments, NAME=VALUE.
class Arguments {
 public:
  explicit Arguments(std::map<std::string, std::string> given) : given_(std::move(given)) {}
  // Returns an integer argument. Throws Error{invalid}, which names the argument, if it is no integer or less
  // than `least`; the default `otherwise` is not checked.
  [[nodiscard]] std::int64_t number(const std::string& name, std::int64_t otherwise, std::int64_t least);
  // Returns a finite number > 0.
  [[nodiscard]] double real(const std::string& name, double otherwise);
  // Returns a flag: 0 or 1.
  [[nodiscard]] bool flag(const std::string& name, bool otherwise);
  [[nodiscard]] std::string text(const std::string& name, const std::string& otherwise);
  [[nodiscard]] bool has(const std::string& name) const { return given_.contains(name); }
  // Throws Error{invalid}, which names the arguments that were never read.
  void refuse_others() const;
  // Throws Error{invalid} if an unread argument belongs to `user`, which requires `needed`.
  template <class User>
  void refuse_those_of(User user, const std::string& needed) const {
    auto copy = *this;
    user(copy);
    copy.refuse_those_beyond(*this, needed);
  }

 private:
  void refuse_those_beyond(const Arguments& before, const std::string& needed) const;
  // Returns the argument's text, if it is given.
  [[nodiscard]] const std::string* given(const std::string& name);

  std::map<std::string, std::string> given_;
  std::map<std::string, bool> asked_;
};

// Parses the options of a run in virtual time: how=, memory=, slow_memory=, bandwidth=, tiled=, cyclic=,
// prefetched=, processes=.
[[nodiscard]] VirtualOptions virtual_options(Arguments& arguments);
// Throws Error{invalid} for arguments without effect in the mode of how=.
void refuse_without_effect(const Arguments& arguments, const VirtualOptions& options);

// A result of a program. `expected` is published or follows from theory; `allowed` is the maximum relative
// deviation. Without `allowed` the result is not checked.
struct Result {
  std::string name;
  double value = 0;
  double expected = 0;
  double allowed = 0;
  [[nodiscard]] bool holds() const;
};

class StencilProgram {
 public:
  virtual ~StencilProgram() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;
  [[nodiscard]] virtual std::string_view title() const = 0;
  // Returns the publication of the scheme.
  [[nodiscard]] virtual std::string_view source() const = 0;
  // Returns the help text of the arguments, a line each.
  [[nodiscard]] virtual std::string_view arguments() const = 0;
  // Sets up the problem in the context and runs it.
  [[nodiscard]] virtual std::vector<Result> run(Context& context, Arguments& arguments) const = 0;
};

// Returns all programs, by name.
const std::vector<const StencilProgram*>& stencil_programs();
// Returns the program. Throws Error{invalid}, which names the known ones.
const StencilProgram& find_stencil_program(std::string_view name);

}  // namespace terrace::stencil::programs
