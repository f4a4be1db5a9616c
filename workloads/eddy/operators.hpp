// Declares the operators of eddy's spectral-element method, in weak form: tested with every polynomial of an
// element, so that results hold the mass and are complete once shared points are summed.
#pragma once

#include "eddy/mesh.hpp"

namespace eddy {

/// The sum of `term(element)` over the elements of all processes, by way of `partial`, one number for each of them
/// here. It is rounded in the same order whatever the number of threads.
template <typename Term>
double sum_over_elements(const Mesh& mesh, Field& partial, const Term& term) {
  const auto elements = static_cast<std::int64_t>(partial.size());
#pragma omp parallel for schedule(static)
  for (std::int64_t element = 0; element < elements; ++element) partial[element] = term(element);
  double sum = 0.0;
  for (const double part : partial) sum += part;
  return mesh.part->processes().sum(sum);
}

/// image = (grad test, grad u).
void apply_laplacian(const Mesh& mesh, const Field& u, Field& image);

/// image = (grad test, diffusion grad u) + (test, reaction u).
void apply_helmholtz(const Mesh& mesh, const Field& diffusion, const Field& reaction, const Field& u,
                     Field& image);

/// The diagonal of either, of an element's own.
void laplacian_diagonal(const Mesh& mesh, Field& diagonal);

/// result = (grad test, u).
void weak_divergence(const Mesh& mesh, const Field& ux, const Field& uy, Field& result);

/// Takes (test, grad p) from ux and uy.
void subtract_gradient(const Mesh& mesh, const Field& p, Field& ux, Field& uy);

/// du_x/dx + du_y/dy and du_y/dx - du_x/dy, point by point.
void divergence_and_vorticity(const Mesh& mesh, const Field& ux, const Field& uy, Field& divergence,
                              Field& vorticity);

/// Brings a velocity to the finer grid, in the elements' own coordinates.
void carry(const Mesh& mesh, const Field& ux, const Field& uy, Field& cr, Field& cs);

/// result = - (test, c . grad u), integrated on the finer grid, where a product of three polynomials is exact.
void advect(const Mesh& mesh, const Field& cr, const Field& cs, const Field& u, Field& result);

/// Filters each element's polynomials.
void filter(const Mesh& mesh, Field& u);

}  // namespace eddy
