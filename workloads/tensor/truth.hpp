// Declares reference results of tensor's factorisation, computed from the elements one by one as they were drawn.
#pragma once

#include "tensor/als.hpp"
#include "tensor/elements.hpp"

namespace tensor {

/// The sum of the elements' squares.
double squares_of(const Planted& planted);

/// 1 - || tensor - model || / || tensor ||.
double fit_of(const Planted& planted, const Model& model);

/// How far the factor of the last mode is from the best one beside the two others: the largest difference between
/// the two sides of the normal equations, relative to their largest element.
double defect_of(const Planted& planted, const Model& model);

}  // namespace tensor
