// Computes the references of tensor's factorisation; uses none of its compressed tensor, grams or products.
#include "tensor/truth.hpp"

#include <algorithm>
#include <cmath>

#include "common/verdict.hpp"

namespace tensor {
namespace {

/// Element r of the row of `mode` in which `element` lies.
double entry(const Model& model, const Element& element, int mode, std::uint64_t r) {
  return model.factor(mode)[element.at[mode] * model.rank() + r];
}

/// The product of columns r and s of a factor.
double dot(const Model& model, int mode, std::uint64_t r, std::uint64_t s) {
  const Factor& factor = model.factor(mode);
  double sum = 0.0;
  for (std::uint64_t i = 0; i < factor.size(); i += model.rank()) sum += factor[i + r] * factor[i + s];
  return sum;
}

}  // namespace

double squares_of(const Planted& planted) {
  double sum = 0.0;
  for (const Element& element : planted.elements) sum += element.value * element.value;
  return sum;
}

// Where the tensor has an element the difference is taken there; elsewhere it is the model's own value, whose
// squares are those of all places less those of the elements'.
double fit_of(const Planted& planted, const Model& model) {
  double difference = 0.0;
  for (const Element& element : planted.elements) {
    double value = 0.0;
    for (std::uint64_t r = 0; r < model.rank(); ++r) {
      value += model.weight()[r] * entry(model, element, 0, r) * entry(model, element, 1, r) *
               entry(model, element, 2, r);
    }
    difference += (element.value - value) * (element.value - value) - value * value;
  }
  for (std::uint64_t r = 0; r < model.rank(); ++r) {
    for (std::uint64_t s = 0; s < model.rank(); ++s) {
      difference +=
          model.weight()[r] * model.weight()[s] * dot(model, 0, r, s) * dot(model, 1, r, s) * dot(model, 2, r, s);
    }
  }
  return 1.0 - std::sqrt(difference / squares_of(planted));
}

double defect_of(const Planted& planted, const Model& model) {
  const std::uint64_t rank = model.rank();
  Factor right(model.factor(2).size());
  for (const Element& element : planted.elements) {
    for (std::uint64_t r = 0; r < rank; ++r) {
      right[element.at[2] * rank + r] += element.value * entry(model, element, 0, r) * entry(model, element, 1, r);
    }
  }
  std::vector<double> matrix(rank * rank);
  for (std::uint64_t r = 0; r < rank; ++r) {
    for (std::uint64_t s = 0; s < rank; ++s) matrix[r * rank + s] = dot(model, 0, r, s) * dot(model, 1, r, s);
  }
  double largest = 0.0;
  double defect = 0.0;
  for (std::uint64_t i = 0; i < right.size(); ++i) {
    double left = 0.0;
    for (std::uint64_t s = 0; s < rank; ++s) {
      left += model.factor(2)[i / rank * rank + s] * model.weight()[s] * matrix[s * rank + i % rank];
    }
    largest = std::max(largest, std::abs(right[i]));
    defect = workloads::worse(defect, std::abs(left - right[i]));
  }
  return defect / largest;
}

}  // namespace tensor
