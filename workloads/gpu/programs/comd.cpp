// Implements CoMD: molecular dynamics of copper with a Lennard-Jones potential (ExMatEx: Mohd-Yusof, Swaminarayan,
// Germann, "Co-design for molecular dynamics: an exascale proxy application", LANL report LA-UR 13-20839, 2013),
// as in its GPU version with one thread per atom. Atoms are in link cells at least as wide as the cutoff, with 64
// slots each; coordinates are a structure of arrays, indexed cell * 64 + slot. A thread of the force kernel
// iterates over the atoms of 27 cells; a list of atoms and their cells assigns the threads. Cells outside of the
// periodic box are copies of those at the other side.
//
// Atoms are displaced from the lattice at random, so that there are forces from the first step on. The benchmark
// moves atoms to other cells after each step; in the few steps made here none leaves its cell, which is checked.
#include <algorithm>
#include <array>
#include <cmath>
#include <random>

#include "workloads/gpu/comd/plain_atoms.hpp"
#include "workloads/gpu/program.hpp"

namespace terrace::gpu_sim {
namespace {

constexpr std::int32_t k_threads = 128;
constexpr std::int32_t k_slots = 64;  // per cell
constexpr std::int32_t k_neighbours = 27;

using namespace comd;

using Doubles = Array<double>;
using Ints = Array<std::int32_t>;

struct Arrays {
  std::vector<Doubles> r;
  std::vector<Doubles> p;
  std::vector<Doubles> f;
  Doubles e;
  Ints species;     // by slot: all are of one species
  Doubles mass;     // by species
  Ints atoms_in;    // by cell
  Ints neighbours;  // by inner cell, 27 each
  Ints list_atoms;  // by thread: the slot in its cell
  Ints list_cells;  // by thread
  Ints mirrors;     // by outer cell: the cell that it is a copy of
  Doubles shifts;   // by outer cell, 3 each: added to positions
};

std::vector<Doubles> three(Device& device, const std::string& name, std::size_t size) {
  return {device.array<double>(name + ".x", size), device.array<double>(name + ".y", size),
          device.array<double>(name + ".z", size)};
}

// Inner cells first, then outer ones.
Arrays make_arrays(Device& device, const Box& box, std::size_t atoms) {
  const auto inside = static_cast<std::size_t>(box.count());
  const auto all = static_cast<std::size_t>(box.cells[0] + 2) * (box.cells[1] + 2) * (box.cells[2] + 2);
  const auto slots = all * k_slots;
  Arrays a{three(device, "r", slots),
           three(device, "p", slots),
           three(device, "f", slots),
           device.array<double>("e", slots),
           device.array<std::int32_t>("iSpecies", slots),
           device.array<double>("species_mass", 1),
           device.array<std::int32_t>("nAtoms", all),
           device.array<std::int32_t>("neighbor_cells", inside * k_neighbours),
           device.array<std::int32_t>("a_list.atoms", atoms),
           device.array<std::int32_t>("a_list.cells", atoms),
           device.array<std::int32_t>("mirror_cells", all - inside),
           device.array<double>("mirror_shifts", (all - inside) * 3)};
  a.mass.host()[0] = k_mass;
  std::int32_t outside = 0;
  std::vector<std::int32_t> number_of(all);
  const auto place = [&](const Cell& c) {
    return c[0] + 1 + (box.cells[0] + 2) * (c[1] + 1 + (box.cells[1] + 2) * (c[2] + 1));
  };
  for_each_cell({-1, -1, -1}, {box.cells[0] + 1, box.cells[1] + 1, box.cells[2] + 1}, [&](const Cell& c) {
    const auto same = box.wrapped(c);
    number_of[place(c)] = same == c ? box.number(c) : box.count() + outside;
    if (same == c) return;
    a.mirrors.host()[outside] = box.number(same);
    for (std::size_t d = 0; d < 3; ++d)
      a.shifts.host()[3 * outside + d] = box.length[d] * std::floor(static_cast<double>(c[d]) / box.cells[d]);
    ++outside;
  });
  std::size_t at = 0;
  const auto add = [&](const Cell& c) { a.neighbours.host()[at++] = number_of[place(c)]; };
  for_each_cell({}, box.cells, [&](const Cell& c) { for_each_around(c, add); });
  return a;
}

// Assigns the atoms to their cells, and lists them by cell. Returns each atom's position in the arrays.
std::vector<std::size_t> place_atoms(const Arrays& a, const Box& box, const Atoms& atoms) {
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < atoms.r.size(); ++i) {
    const auto cell = box.number(box.cell(atoms.r[i]));
    const auto slot = a.atoms_in.host()[cell]++;
    if (slot == k_slots) throw Error(Code::failed, "a cell has more than " + std::to_string(k_slots) + " atoms");
    places.push_back(static_cast<std::size_t>(cell * k_slots + slot));
    for (std::size_t d = 0; d < 3; ++d) {
      a.r[d].host()[places.back()] = atoms.r[i][d];
      a.p[d].host()[places.back()] = atoms.p[i][d];
    }
  }
  std::size_t thread = 0;
  for (std::int32_t cell = 0; cell < box.count(); ++cell)
    for (std::int32_t slot = 0; slot < a.atoms_in.host()[cell]; ++slot) {
      a.list_cells.host()[thread] = cell;
      a.list_atoms.host()[thread++] = slot;
    }
  for (std::size_t i = 0; i < a.mirrors.size(); ++i)
    a.atoms_in.host()[static_cast<std::size_t>(box.count()) + i] = a.atoms_in.host()[a.mirrors.host()[i]];
  return places;
}

class Comd final : public GpuProgram {
 public:
  [[nodiscard]] std::string_view name() const override { return "comd"; }
  [[nodiscard]] std::string_view title() const override { return "Molecular dynamics of copper in link cells"; }
  [[nodiscard]] std::string_view source() const override { return "CoMD: Mohd-Yusof et al., LA-UR 13-20839"; }
  // Numbers: lattice cells of 4 atoms in x, y and z, time steps.
  [[nodiscard]] const std::vector<ProgramSize>& sizes() const override {
    static const std::vector<ProgramSize> sizes{
        {"test", {6, 5, 5, 1}, ""},
        {"paper", {20, 20, 20, 1}, "the 20 x 20 x 20 lattice cells, 32 000 atoms, and 1 of the 100 time steps"}};
    return sizes;
  }

  [[nodiscard]] std::optional<std::size_t> iterations() const override { return 3; }

  [[nodiscard]] std::string run(Device& device, const std::vector<std::int64_t>& numbers) const override {
    Cell lattice{};
    for (std::size_t d = 0; d < 3; ++d) lattice[d] = static_cast<std::int32_t>(numbers[d]);
    const Box box(lattice);
    auto atoms = make_atoms(lattice);
    const auto a = make_arrays(device, box, atoms.r.size());
    const auto places = place_atoms(a, box, atoms);

    copy_halos(device, a, box);
    force(device, a);
    find_forces(box, atoms);
    for (std::int64_t k = 0; k < numbers[3]; ++k) {
      advance_velocity(device, a, k_dt / 2);
      advance_position(device, a, k_dt);
      copy_halos(device, a, box);
      force(device, a);
      advance_velocity(device, a, k_dt / 2);
      step(box, atoms);
    }
    return verdict(a, box, atoms, places);
  }

 private:
  static std::string verdict(const Arrays& a, const Box& box, const Atoms& atoms,
                             const std::vector<std::size_t>& places) {
    Comparison comparison;
    Triple momentum{};
    std::array<double, 2> energy{};  // found, expected
    for (std::size_t i = 0; i < places.size(); ++i) {
      Triple r{};
      for (std::size_t d = 0; d < 3; ++d) {
        r[d] = a.r[d].host()[places[i]];
        comparison.add(r[d], atoms.r[i][d]);
        comparison.add(a.p[d].host()[places[i]], atoms.p[i][d], 1);
        comparison.add(a.f[d].host()[places[i]], atoms.f[i][d], 0.1);
        momentum[d] += a.p[d].host()[places[i]];
        energy[0] += a.p[d].host()[places[i]] * a.p[d].host()[places[i]] / (2 * k_mass);
        energy[1] += atoms.p[i][d] * atoms.p[i][d] / (2 * k_mass);
      }
      comparison.add(a.e.host()[places[i]], atoms.e[i]);
      energy[0] += a.e.host()[places[i]];
      energy[1] += atoms.e[i];
      if (static_cast<std::size_t>(box.number(box.cell(r))) != places[i] / k_slots)
        throw Error(Code::failed, "atom " + std::to_string(i) + " has left its cell, and nothing moves it");
    }
    comparison.add(energy[0], energy[1]);
    // The total momentum stays 0.
    for (const auto sum : momentum) comparison.add(sum / static_cast<double>(places.size()), 0, 1);
    return comparison.verdict("positions, momenta, forces and energies", 1e-11);
  }

  // Calls back with the cell and the index of each thread's own atom.
  template <class Call>
  static void launch(Device& device, const Arrays& a, const char* name, std::uint32_t registers, Call call) {
    const auto atoms = static_cast<std::int32_t>(a.list_atoms.size());
    device.launch({name, (atoms + k_threads - 1) / k_threads, k_threads, registers}, [&](Thread& t) {
      const auto i = t.index();
      if (i >= atoms) return;
      const auto atom = t.load(a.list_atoms, i);
      const auto cell = t.load(a.list_cells, i);
      call(t, cell, fma(cell, k_slots, atom));
    });
  }

  static void advance_velocity(Device& device, const Arrays& a, double dt) {
    launch(device, a, "AdvanceVelocity", 16, [&](Thread& t, const auto&, const auto& i) {
      for (std::size_t d = 0; d < 3; ++d) {
        const auto p = t.load(a.p[d], i);
        t.store(a.p[d], i, fma(dt, t.load(a.f[d], i), p));
      }
    });
  }

  static void advance_position(Device& device, const Arrays& a, double dt) {
    launch(device, a, "AdvancePosition", 20, [&](Thread& t, const auto&, const auto& i) {
      const auto inverse = 1.0 / t.load(a.mass, t.load(a.species, i));
      for (std::size_t d = 0; d < 3; ++d) {
        const auto r = t.load(a.r[d], i);
        t.store(a.r[d], i, fma(dt * t.load(a.p[d], i), inverse, r));
      }
    });
  }

  // One CTA per outer cell, one thread per slot.
  static void copy_halos(Device& device, const Arrays& a, const Box& box) {
    const auto grid = static_cast<std::int32_t>(a.mirrors.size());
    device.launch({"copy_halos", grid, k_slots, 16}, [&](Thread& t) {
      const auto cell = t.block() + box.count();
      const auto slot = t.thread();
      if (slot >= t.load(a.atoms_in, cell)) return;
      const auto from = fma(t.load(a.mirrors, t.block()), k_slots, slot);
      const auto to = fma(cell, k_slots, slot);
      for (std::int32_t d = 0; d < 3; ++d)
        t.store(a.r[d], to, t.load(a.r[d], from) + t.load(a.shifts, t.block() * 3 + d));
    });
  }

  // Adds the interaction with one atom: forces by epsilon in x, y and z, energy by 4 epsilon.
  using Sums = std::array<Value<double>, 4>;

  // In its own cell the atom skips itself. This is above `force` in the text, so that all lanes finish their own
  // cell before any continues with the others.
  static void add_cell(Thread& t, const Arrays& a, const std::array<Value<double>, 3>& r,
                       const Value<std::int32_t>& cell, bool own, Sums& sums) {
    const auto first = cell * k_slots;
    for (const auto slot : t.range(0, t.load(a.atoms_in, cell))) {
      const auto j = first + slot;
      const auto x = t.load(a.r[0], j);
      const auto y = t.load(a.r[1], j);
      const auto z = t.load(a.r[2], j);
      const std::array<Value<double>, 3> apart{r[0] - x, r[1] - y, r[2] - z};
      const auto square = fma(apart[0], apart[0], fma(apart[1], apart[1], apart[2] * apart[2]));
      if (square > k_cutoff2 || (own && !(square > 0.0))) continue;
      const auto inverse = 1.0 / square;
      const auto ratio6 = inverse * inverse * inverse * k_sigma6;
      sums[3] = fma(0.5, fma(ratio6, ratio6 - 1.0, -k_shift), sums[3]);
      const auto by_distance = ratio6 * inverse * fma(48.0, ratio6, -24.0);
      for (std::size_t d = 0; d < 3; ++d) sums[d] = fma(by_distance, apart[d], sums[d]);
    }
  }

  static void force(Device& device, const Arrays& a) {
    launch(device, a, "LJ_Force_thread_atom", 32, [&](Thread& t, const auto& own_cell, const auto& i) {
      const std::array<Value<double>, 3> r{t.load(a.r[0], i), t.load(a.r[1], i), t.load(a.r[2], i)};
      Sums sums{t.own(0.0), t.own(0.0), t.own(0.0), t.own(0.0)};
      add_cell(t, a, r, own_cell, true, sums);
      for (const auto k : t.range(1, k_neighbours))
        add_cell(t, a, r, t.load(a.neighbours, fma(own_cell, k_neighbours, k)), false, sums);
      for (std::size_t d = 0; d < 3; ++d) t.store(a.f[d], i, sums[d] * k_epsilon);
      t.store(a.e, i, sums[3] * (4 * k_epsilon));
    });
  }
};

}  // namespace

const GpuProgram& comd_program() {
  static const Comd program;
  return program;
}

}  // namespace terrace::gpu_sim
