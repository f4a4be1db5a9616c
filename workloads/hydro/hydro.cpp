// Lagrangian hydrodynamics on an unstructured mesh of quadrilaterals (gas.hpp): the Sedov blast wave from a line,
// in a quarter of the plane. Energy E is set free at the origin of a cold gas of density 1; its shock is a circle
// of radius (E t^2 / alpha)^(1/4). Source of the solution and of alpha: Sedov, "Similarity and dimensional methods
// in mechanics", 1959, chapter IV; Kamm and Timmes, "On efficient generation of numerically robust Sedov
// solutions", LA-UR-07-2849, 2007, whose E = 0.311357 puts the shock at 0.75 at time 1, which is alpha = 0.98404
// for gamma = 7/5.
//
// A step is one iteration: it moves the gas by half the time, and with the forces found there by the whole.
// Verified: the total energy, to rounding; that no zone turned inside out; the shock's radius, once it is ten
// zones wide, to 1 % and half a zone.
#include "hydro/program.hpp"

int main(int argc, char** argv) {
  const hydro::Settings settings = hydro::parse_settings(argc, argv);
  hydro::Alone neighbours;
  return hydro::run(settings, {0, settings.side}, neighbours, workloads::Processes());
}
