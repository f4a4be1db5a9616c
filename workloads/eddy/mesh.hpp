// Declares eddy's mesh: the periodic square of side 2 pi, cut into elements with curved sides, and for its points
// coordinates, geometry, mass, and how the points that elements share find each other.
//
// A field has a value of its own for each element's points, shared or not: element by element, and within each of
// them by rows, as in Nek5000. The metrics are those of Deville, Fischer and Mund, 2002, section 4.4, and hold the
// mass: derivative_x f = (rx f_r + sx f_s) / mass.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/processes.hpp"
#include "eddy/basis.hpp"

namespace eddy {

using Field = std::vector<double>;

/// The elements of a process, and the exchange with the processes that have the others. The class itself is for a
/// process that has all.
class Part {
 public:
  Part(const workloads::Processes& processes, std::int64_t first_element, std::int64_t element_count)
      : processes_(processes), first_(first_element), count_(element_count) {}
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;
  virtual ~Part() = default;

  const workloads::Processes& processes() const { return processes_; }
  std::int64_t first() const { return first_; }
  std::int64_t count() const { return count_; }

  /// Adds to each value what the copies of its point in other processes have. Those here are summed already.
  virtual void add_copies(Field& /*field*/) const {}

  /// Completes a field of `width` values for each element of the whole mesh. Requires: those of the process's own
  /// elements are set.
  virtual void gather(Field& /*by_element*/, int /*width*/) const {}

 private:
  const workloads::Processes& processes_;
  std::int64_t first_;
  std::int64_t count_;
};

struct Mesh {
  std::int64_t side = 0;  // elements
  const Part* part = nullptr;
  Basis basis;

  Field x, y;
  Field rx, ry, sx, sy;
  Field mass;              // of an element's own points
  Field inverse_mass;      // of the points, once those that are shared are summed
  Field share;             // 1 by how many elements have the point
  Field g_rr, g_rs, g_ss;  // the Laplacian's
  // On the finer grid.
  Field fine_rx, fine_ry, fine_sx, fine_sy;

  std::vector<std::uint32_t> number;  // of each point: the same for copies of the same
  // Shared point i has its copies in copies[first_copy[i]] and so on, to first_copy[i + 1].
  std::vector<std::uint32_t> first_copy, copies;

  std::int64_t elements() const { return part->count(); }  // of this process
  std::int64_t points() const { return static_cast<std::int64_t>(basis.points) * basis.points; }  // of an element
  std::int64_t fine_points() const { return static_cast<std::int64_t>(basis.fine) * basis.fine; }
  std::size_t size() const { return static_cast<std::size_t>(elements() * points()); }  // of a field
  std::size_t fine_size() const { return static_cast<std::size_t>(elements() * fine_points()); }
};

/// Makes a process's part of a mesh. Borrows `part`.
Mesh make_mesh(std::int64_t side, Basis basis, const Part& part);

/// Returns the number of the point `index` of an element of the whole mesh. Points are numbered by rows of the
/// whole square; its last row and column are its first.
std::uint32_t point_number(std::int64_t side, int points, std::int64_t element, int index);

/// Gives every copy of a point the sum of all.
void sum_shared(const Mesh& mesh, Field& field);

/// Gives every copy of a point the mean of all.
void average_shared(const Mesh& mesh, Field& field);

/// The shortest distance between neighbouring points, near enough.
double min_distance(std::int64_t side, const Basis& basis);

}  // namespace eddy
