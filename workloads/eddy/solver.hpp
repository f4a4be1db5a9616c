// Declares conjugate gradients on eddy's mesh, their preconditioner, and initial guesses from earlier solutions.
#pragma once

#include "eddy/mesh.hpp"

namespace eddy {

/// The vectors of conjugate gradients.
struct Krylov {
  Field residual;
  Field preconditioned;
  Field direction;
  Field image;  // the operator's, of the direction
  Field inverse_diagonal;
};

/// The part of the pressure that varies from element to element, which a diagonal preconditioner leaves to
/// hundreds of iterations: linear functions between the elements' corners, on the mesh as if its elements were
/// squares. Then Fourier's functions diagonalise the operator.
struct Coarse {
  Field hats;         // linear functions at an element's points, one side's
  Field transform;    // side x side, its own inverse but for a factor
  Field inverse;      // of the eigenvalues, and of that factor
  Field by_element;   // 4 corners each
  Field by_corner;    // side x side
  Field transformed;  // side x side
};

Coarse make_coarse(const Mesh& mesh);

constexpr int k_earlier = 8;

/// Earlier solutions x and their images A x, and the products x . A y of all pairs. The oldest gives way. Source:
/// Fischer, "Projection techniques for iterative solution of Ax = b with successive right-hand sides", Comput.
/// Methods Appl. Mech. Engrg. 163, 1998, here without making the solutions orthogonal, so that all steps are
/// alike.
struct Earlier {
  Field solutions;
  Field images;
  Field products;  // k_earlier x k_earlier
  int count = 0;
  int newest = k_earlier - 1;
};

struct Solved {
  int iterations;
  double residual;  // its norm over the square: above the tolerance where it did not converge
};

/// Solves the pressure's Poisson equation from cg.residual = b - A p, p as it stands, until the residual's norm
/// is at most `tolerance`.
Solved solve_laplacian(const Mesh& mesh, Krylov& cg, Coarse& coarse, Field& partial, double tolerance, Field& p);

/// Solves the Helmholtz equation for a component of the velocity.
Solved solve_helmholtz(const Mesh& mesh, const Field& diffusion, const Field& reaction, Krylov& cg, Field& partial,
                       double tolerance, Field& u);

/// x = the best that earlier solutions can do for A x = b; takes A x from b.
void project(const Mesh& mesh, const Earlier& earlier, Field& partial, Field& x, Field& b);

/// Puts x and image = A x, complete at shared points, in the place of the oldest pair.
void remember(const Mesh& mesh, const Field& x, const Field& image, Field& partial, Earlier& earlier);

/// The sum of a b over the points, each counted once.
double dot(const Mesh& mesh, const double* a, const double* b, Field& partial);

}  // namespace eddy
