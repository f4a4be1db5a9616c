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
#include "common/options.hpp"
#include "common/threads.hpp"
#include "hydro/program.hpp"

int main(int argc, char** argv) {
  hydro::Settings settings;
  workloads::Options options("hydro", "Lagrangian hydrodynamics on an unstructured mesh: the Sedov blast wave");
  options.count("--side", &settings.side, "zones along each side of the square, 16 to 16384");
  options.count("--steps", &settings.steps,
                "maximum number of steps; default: until time 1, when the shock is at radius 0.75");
  workloads::declare_threads(options, &settings.threads);
  options.parse(argc, argv);
  workloads::use_threads(options, settings.threads);
  if (settings.side < 16 || settings.side > 16384) options.fail("--side: from 16 to 16384");
  hydro::Alone neighbours;
  return hydro::run(settings, {0, settings.side}, neighbours, workloads::Processes()).status;
}
