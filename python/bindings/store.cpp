// SPDX-License-Identifier: Apache-2.0
// Binds profile stores, profiles and calibrations (measured constants of the model), for terrace.solve.
#include "profile/store/store.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings.hpp"
#include "core/plan.hpp"
#include "model/calibration.hpp"
#include "model/problem.hpp"
#include "profile/profile.hpp"
#include "strategy/planner.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace terrace::python {
namespace {

using model::Calibration;
using profile::Profile;
using profile::Store;

std::span<const std::byte> bytes_of(const std::string& blob) {
  return {reinterpret_cast<const std::byte*>(blob.data()), blob.size()};
}

Calibration calibration_from(std::span<const std::byte> blob) {
  if (blob.empty()) return {};
  BlobReader in(blob);
  return Calibration::from_blob(in);
}

void bind_profile(nb::module_& module) {
  nb::class_<Profile>(module, "Profile", "Accesses to each chunk in each phase.")
      .def_ro("exact", &Profile::exact)
      .def_ro("loop", &Profile::loop)
      .def_ro("cores", &Profile::cores)
      .def_ro("unseen", &Profile::unseen)
      .def_prop_ro("iterations", [](const Profile& self) { return self.iterations.size(); })
      .def_prop_ro(
          "footprint",
          [](const Profile& self) {
            std::uint64_t sum = 0;
            for (const auto& object : self.objects) sum += object.live ? object.size.value : 0;
            return sum;
          },
          "Bytes of all objects that are live in the loop.")
      .def_prop_ro(
          "stand_for",
          [](const Profile& self) {
            std::vector<double> iterations;
            for (const auto& one : self.iterations) iterations.push_back(one.stands_for);
            return iterations;
          },
          "By profiled iteration: of how many of the loop it is one, itself and those after it that were not "
          "followed.")
      .def("only", &model::single_iteration, "iteration"_a,
           "Returns the profile with one of its iterations, and all of its objects.")
      .def("followed_by", &strategy::profile_for_progress, "progress"_a,
           "Returns the profile for plans whose segments begin by that measure.");
}

void bind_calibration(nb::module_& module) {
  nb::class_<Calibration>(module, "Calibration", "The measured constants of Unimem's model.")
      .def(nb::init<>())
      .def_static(
          "from_bytes", [](const nb::bytes& blob) { return calibration_from(python::bytes_of(blob)); }, "blob"_a)
      .def_ro("bandwidth_sensitive", &Calibration::bandwidth_sensitive)
      .def_ro("latency_sensitive", &Calibration::latency_sensitive)
      .def_prop_ro("peak_bandwidths",
                   [](const Calibration& self) {
                     std::vector<double> peaks;
                     for (const auto& place : self.places) peaks.push_back(place.peak_bandwidth);
                     return peaks;
                   })
      .def_prop_ro(
          "factors",
          [](const Calibration& self) {
            nb::list factors;
            for (const auto& place : self.places) {
              factors.append(nb::make_tuple(place.cf_bandwidth, place.cf_latency));
            }
            return factors;
          },
          "(CF_bw, CF_lat) by place.");
}

}  // namespace

void bind_store(nb::module_& module) {
  bind_profile(module);
  bind_calibration(module);
  nb::class_<profile::StoredRun>(module, "StoredRun", "One process of a profile store.")
      .def_ro("id", &profile::StoredRun::id)
      .def_ro("process", &profile::StoredRun::process)
      .def_ro("program", &profile::StoredRun::program)
      .def_ro("backend", &profile::StoredRun::backend)
      .def_ro("mode", &profile::StoredRun::mode)
      .def_ro("sampled_iterations", &profile::StoredRun::sampled_iterations)
      .def_ro("exact_iterations", &profile::StoredRun::exact_iterations);
  nb::class_<Store>(module, "Store", "A profile store (*.terrace), opened for reading.")
      .def(nb::init<const std::string&>(), "path"_a)
      .def("runs", &Store::runs)
      .def("profile", &Store::profile, "run"_a, "exact"_a = false, "Returns the last loop's profile.")
      .def("machine", &Store::machine, "run"_a)
      .def(
          "calibration",
          [](const Store& self, std::int64_t run) { return calibration_from(bytes_of(self.calibration(run))); },
          "run"_a, "Returns the calibration of the run's planner, or defaults.")
      .def(
          "plans",
          [](const Store& self, std::int64_t run) {
            nb::list plans;
            for (const auto& stored : self.plans(run)) {
              plans.append(nb::make_tuple(stored.plan, stored.at.value, stored.why));
            }
            return plans;
          },
          "run"_a, "(plan, time, why) in the order in which they were made.");
}

}  // namespace terrace::python
