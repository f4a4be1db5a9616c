// SPDX-License-Identifier: Apache-2.0
// Parses the arithmetic expressions of hints files, --define and terrace.h by recursive descent into the steps of
// a stack machine. See expression.hpp.
#include <array>
#include <utility>

#include "core/error.hpp"
#include "core/units_tables.hpp"
#include "strategy/hints/expression.hpp"

namespace terrace::strategy {
namespace {

using Op = Expression::Op;
using Step = Expression::Step;

constexpr std::size_t k_max_length = 1000;  // of a text
constexpr int k_max_depth = 50;             // of nested parentheses
constexpr std::uint64_t k_exact = std::uint64_t{1} << 53;
constexpr int k_exact_ten = 22;  // the largest power of ten that is a double
constexpr std::size_t k_shown = 60;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_name_part(char c) { return is_letter(c) || is_digit(c) || c == '.'; }

// Returns the text shortened for a message, without control characters.
std::string shown(std::string_view text) {
  std::string out;
  for (const char c : text.substr(0, k_shown)) out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  return text.size() > k_shown ? out + "..." : out;
}

constexpr double ten_to(int exponent) {
  double power = 1;
  for (int i = 0; i < exponent; ++i) power *= 10;
  return power;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  std::vector<Step> run() {
    if (text_.size() > k_max_length) refuse("it has more than 1000 characters; split it into values of their own");
    sum();
    skip_blanks();
    if (at_ < text_.size()) {
      if (text_[at_] == ')') refuse("there is no '(' for this ')'");
      refuse("'" + shown(text_.substr(at_, 1)) + "' stands where an operator or the end belongs");
    }
    return std::move(steps_);
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    throw Error(Code::invalid, "'" + shown(text_) + "', column " + std::to_string(at_ + 1) + ": " + what);
  }
  void skip_blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  }
  [[nodiscard]] char next() {
    skip_blanks();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool accept(char wanted) {
    if (next() != wanted || at_ == text_.size()) return false;
    ++at_;
    return true;
  }
  void expect(char wanted, const char* after) {
    if (!accept(wanted)) refuse(std::string("a '") + wanted + "' is missing after " + after);
  }
  void add(Op op) { steps_.push_back({op, 0, {}}); }

  void sum() {
    product();
    for (;;) {
      if (accept('+')) {
        product();
        add(Op::add);
      } else if (accept('-')) {
        product();
        add(Op::subtract);
      } else {
        return;
      }
    }
  }
  void product() {
    signed_power();
    for (;;) {
      if (accept('*')) {
        signed_power();
        add(Op::multiply);
      } else if (accept('/')) {
        signed_power();
        add(Op::divide);
      } else {
        return;
      }
    }
  }
  // -2^2 is -4.
  void signed_power() {
    bool negative = false;
    while (accept('-')) negative = !negative;
    atom();
    if (accept('^')) {
      enter();
      signed_power();  // 2^3^2 is 2^9
      leave();
      add(Op::power);
    }
    if (negative) add(Op::negate);
  }
  void atom() {
    const char c = next();
    if (is_digit(c) || c == '.') return number();
    if (is_letter(c)) return name();
    if (accept('(')) {
      enter();
      sum();
      leave();
      return expect(')', "what stands in parentheses");
    }
    const auto found = at_ < text_.size() ? "'" + shown(text_.substr(at_, 1)) + "' stands" : "it ends";
    refuse(found + " where a number, a name or '(' belongs; write for example 2*nnz*niter");
  }
  void enter() {
    if (++depth_ > k_max_depth) refuse("more than 50 parentheses or exponents within one another; use fewer");
  }
  void leave() { --depth_; }

  std::string_view word() {
    const auto begin = at_;
    while (at_ < text_.size() && is_name_part(text_[at_])) ++at_;
    return text_.substr(begin, at_ - begin);
  }
  void name() {
    const auto begin = at_;
    const auto found = word();
    if (next() != '(') {
      steps_.push_back({Op::value, 0, std::string(found)});
      return;
    }
    if (found == "bytes") return bytes();
    if (found == "min") return smallest_or_largest(Op::min);
    if (found == "max") return smallest_or_largest(Op::max);
    if (found == "ceil") return rounded_up();
    at_ = begin;
    refuse("there is no function '" + shown(found) + "'; there are min, max, ceil and bytes");
  }
  void smallest_or_largest(Op op) {
    expect('(', op == Op::min ? "min" : "max");
    enter();
    sum();
    if (next() != ',') refuse("min and max take two values or more; write for example min(n, 100)");
    while (accept(',')) {
      sum();
      add(op);
    }
    leave();
    expect(')', "the values of min and max");
  }
  void rounded_up() {
    expect('(', "ceil");
    enter();
    sum();
    leave();
    expect(')', "the value of ceil");
    add(Op::ceil);
  }
  void bytes() {
    expect('(', "bytes");
    const char quote = next();
    if (quote != '"' && quote != '\'') refuse("bytes takes an object's name in quotes; write bytes(\"u\")");
    const auto begin = ++at_;
    const auto end = text_.find(quote, begin);
    if (end == std::string_view::npos) refuse("the quote after the object's name is missing");
    if (end == begin) refuse("the object's name is empty");
    steps_.push_back({Op::bytes, 0, std::string(text_.substr(begin, end - begin))});
    at_ = end + 1;
    expect(')', "the object's name");
  }

  void number() {
    const auto begin = at_;
    std::uint64_t digits = 0;
    int exponent = 0, places = 0;
    bool any = false, point = false;
    for (; at_ < text_.size() && (is_digit(text_[at_]) || (text_[at_] == '.' && !point)); ++at_) {
      if (text_[at_] == '.') {
        point = true;
        continue;
      }
      any = true;
      if (point) ++places;
      digits = 10 * digits + static_cast<std::uint64_t>(text_[at_] - '0');
      if (digits > k_exact) return refuse_at(begin, "a number has at most 15 digits; write for example 1.5e20");
    }
    if (!any) return refuse_at(begin, "there is no number before or after the point");
    if (at_ < text_.size() && (text_[at_] == 'e' || text_[at_] == 'E')) exponent = read_exponent(begin);
    const auto unit = unit_at(begin);
    exponent += unit.ten - places;
    auto value = static_cast<double>(digits);
    if (digits != 0 && (exponent > k_exact_ten || exponent < -k_exact_ten))
      return refuse_at(begin, "the number is out of range; its exponent is between -22 and 22");
    if (digits != 0) value = exponent < 0 ? value / ten_to(-exponent) : value * ten_to(exponent);
    steps_.push_back({Op::number, value * static_cast<double>(std::uint64_t{1} << unit.two), {}});
  }
  int read_exponent(std::size_t begin) {
    ++at_;
    const bool negative = at_ < text_.size() && text_[at_] == '-';
    if (at_ < text_.size() && (text_[at_] == '-' || text_[at_] == '+')) ++at_;
    if (at_ == text_.size() || !is_digit(text_[at_])) refuse_at(begin, "the exponent after the e is missing");
    int exponent = 0;
    for (; at_ < text_.size() && is_digit(text_[at_]); ++at_)
      if (exponent < 1000) exponent = 10 * exponent + (text_[at_] - '0');
    return negative ? -exponent : exponent;
  }
  Unit unit_at(std::size_t begin) {
    const auto found = word();
    for (const auto& unit : k_byte_units)
      if (unit.name == found) return unit;
    refuse_at(begin, "'" + shown(found) +
                         "' is no unit of a size (kB, KiB, MB, MiB, ...); between a number and a "
                         "name belongs a *");
  }
  [[noreturn]] void refuse_at(std::size_t begin, const std::string& what) {
    at_ = begin;
    refuse(what);
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int depth_ = 0;
  std::vector<Step> steps_;
};

}  // namespace

Expression Expression::parse(std::string_view text) {
  Expression expression;
  expression.text_ = text;
  expression.steps_ = Parser(text).run();
  return expression;
}

bool is_value_name(std::string_view text) {
  if (text.empty() || text.size() > 200 || !is_letter(text.front())) return false;
  for (const char c : text)
    if (!is_name_part(c)) return false;
  return text != "min" && text != "max" && text != "ceil" && text != "bytes";
}

}  // namespace terrace::strategy
