// A stencil program: a code on structured meshes, written with terrace/stencil.hpp, and what its results are held
// against. Each is a file of its own in programs/, which defines `const StencilProgram& NAME_program()`; the build
// makes the table of them (cmake/Variants.cmake). One executable runs them all (main.cpp).
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

// What a user gives as NAME=VALUE.
class Arguments {
 public:
  explicit Arguments(std::map<std::string, std::string> given) : given_(std::move(given)) {}
  // Throws Error{invalid}, which names the argument, where it is no such number, or a smaller one than `least`;
  // `otherwise` is not held against that.
  [[nodiscard]] std::int64_t number(const std::string& name, std::int64_t otherwise, std::int64_t least);
  // The same for a finite number, larger than 0.
  [[nodiscard]] double real(const std::string& name, double otherwise);
  // 0 or 1.
  [[nodiscard]] bool flag(const std::string& name, bool otherwise);
  [[nodiscard]] std::string text(const std::string& name, const std::string& otherwise);
  [[nodiscard]] bool has(const std::string& name) const { return given_.contains(name); }
  // Throws Error{invalid} naming those that nobody asked for.
  void refuse_others() const;
  // Throws Error{invalid} where `user` takes an argument that is given and that nobody has asked for: it needs
  // `needed`.
  template <class User>
  void refuse_those_of(User user, const std::string& needed) const {
    auto copy = *this;
    user(copy);
    copy.refuse_those_beyond(*this, needed);
  }

 private:
  void refuse_those_beyond(const Arguments& before, const std::string& needed) const;
  // Its text, if it is given.
  [[nodiscard]] const std::string* given(const std::string& name);

  std::map<std::string, std::string> given_;
  std::map<std::string, bool> asked_;
};

// What is said of a run in virtual time, by how=, memory=, slow_memory=, bandwidth=, tiled=, cyclic=, prefetched=,
// processes=.
[[nodiscard]] VirtualOptions virtual_options(Arguments& arguments);
// Throws Error{invalid} for one that is given and has no effect with the mode that how= says.
void refuse_without_effect(const Arguments& arguments, const VirtualOptions& options);

// One number that a program ends with. `expected` is what was published or follows from theory; `allowed` is how
// far the result may be from it, relative to it. Without `allowed` there is nothing to hold it against.
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
  // Where the scheme is published.
  [[nodiscard]] virtual std::string_view source() const = 0;
  // The arguments and what they are, a line each.
  [[nodiscard]] virtual std::string_view arguments() const = 0;
  // Sets the problem up in the context and runs it.
  [[nodiscard]] virtual std::vector<Result> run(Context& context, Arguments& arguments) const = 0;
};

// All of them, by name.
const std::vector<const StencilProgram*>& stencil_programs();
// Throws Error{invalid} naming those that there are.
const StencilProgram& find_stencil_program(std::string_view name);

}  // namespace terrace::stencil::programs
