// SPDX-License-Identifier: Apache-2.0
// Evaluates the arithmetic expressions of hints ("2*nnz*niter") with the values and object sizes of the running
// program. The parser is in expression_parse.cpp. See expression.hpp.
#include "strategy/hints/expression.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/error.hpp"

namespace terrace::strategy {
namespace {

using Op = Expression::Op;

constexpr int k_max_exponent = 64;

// Returns how many values the step pops from the stack; each step pushes one.
int taken(Op op) {
  switch (op) {
    case Op::number:
    case Op::value:
    case Op::bytes:
      return 0;
    case Op::negate:
    case Op::ceil:
      return 1;
    default:
      return 2;
  }
}

std::optional<double> power(double base, double exponent) {
  if (!(exponent >= -k_max_exponent && exponent <= k_max_exponent)) return std::nullopt;
  const auto whole = static_cast<int>(exponent);
  if (whole != exponent) return std::nullopt;
  double product = 1;
  for (int i = 0; i < std::abs(whole); ++i) product *= base;
  return whole < 0 ? 1 / product : product;
}

// Rounds up without libm. Doubles of 2^53 and above are integers.
double round_up(double value) {
  constexpr double k_first_whole = 9007199254740992.0;
  if (!(std::abs(value) < k_first_whole)) return value;
  const auto whole = static_cast<double>(static_cast<std::int64_t>(value));
  return whole < value ? whole + 1 : whole;
}

std::optional<double> combine(Op op, double a, double b, std::string& problem) {
  switch (op) {
    case Op::add:
      return a + b;
    case Op::subtract:
      return a - b;
    case Op::multiply:
      return a * b;
    case Op::divide:
      if (b == 0) problem = "it divides by 0";
      return b == 0 ? std::nullopt : std::optional(a / b);
    case Op::min:
      return b < a ? b : a;
    case Op::max:
      return b > a ? b : a;
    default: {
      const auto value = power(a, b);
      if (!value) problem = "it has an exponent that is no whole number from -64 to 64";
      return value;
    }
  }
}

}  // namespace

Expression::Outcome Expression::evaluate(const Bindings& bindings) const {
  std::vector<double> stack;
  Outcome outcome;
  const auto load = [&](std::optional<double> value, const char* problem_before, const std::string& name,
                        const char* problem_after) {
    if (!value) outcome.problem = problem_before + name + problem_after;
    stack.push_back(value.value_or(0));
  };
  for (const auto& step : steps_) {
    if (step.op == Op::number) {
      stack.push_back(step.number);
    } else if (step.op == Op::value) {
      load(bindings.value(step.name), "", step.name, " has no value");
    } else if (step.op == Op::bytes) {
      load(bindings.bytes(step.name), "there is no object '", step.name, "'");
    } else if (step.op == Op::negate) {
      stack.back() = -stack.back();
    } else if (step.op == Op::ceil) {
      stack.back() = round_up(stack.back());
    } else {
      const auto b = stack.back();
      stack.pop_back();
      stack.back() = combine(step.op, stack.back(), b, outcome.problem).value_or(0);
    }
    if (!outcome.problem.empty()) return outcome;
  }
  outcome.value = stack.back();
  if (!std::isfinite(outcome.value)) outcome.problem = "it is too large";
  return outcome;
}

std::vector<std::string> Expression::names() const {
  std::vector<std::string> names;
  for (const auto& step : steps_)
    if (step.op == Op::value) names.push_back(step.name);
  return names;
}

std::vector<std::string> Expression::objects() const {
  std::vector<std::string> objects;
  for (const auto& step : steps_)
    if (step.op == Op::bytes) objects.push_back(step.name);
  return objects;
}

bool Expression::is_well_formed() const {
  int depth = 0;
  for (const auto& step : steps_) {
    if (step.op > Op::ceil || depth < taken(step.op)) return false;
    depth += 1 - taken(step.op);
  }
  return depth == 1;
}

void Expression::to_blob(BlobWriter& out) const {
  out.put(text_);
  out.put(static_cast<std::uint32_t>(steps_.size()));
  for (const auto& step : steps_) {
    out.put(step.op);
    out.put(step.number);
    out.put(step.name);
  }
}

Expression Expression::from_blob(BlobReader& in) {
  Expression expression;
  expression.text_ = in.get_string();
  for (auto n = in.get<std::uint32_t>(); n > 0; --n) {
    Step step;
    step.op = in.get<Op>();
    step.number = in.get<double>();
    step.name = in.get_string();
    expression.steps_.push_back(std::move(step));
  }
  if (!expression.is_well_formed())
    throw Error(
        Code::corrupt,
        "an expression of the hints is damaged: its steps do not leave one value; start the program again");
  return expression;
}

double parse_constant(std::string_view text) {
  const auto expression = Expression::parse(text);
  const auto nothing = [](const std::string&) { return std::nullopt; };
  const auto outcome = expression.evaluate({nothing, nothing});
  if (outcome.problem.empty()) return outcome.value;
  throw Error(Code::invalid, "'" + expression.text() + "' is no number: " + outcome.problem);
}

}  // namespace terrace::strategy
