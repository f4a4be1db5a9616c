"""Terrace in Spack: builds the source tree that this recipe lies in."""

from pathlib import Path

from spack.package import *
from spack_repo.builtin.build_systems.cmake import CMakePackage


class Terrace(CMakePackage):
    """Places a program's data on machines with more than one kind of memory, live or in virtual time."""

    # As long as there is no release, the versions are those of the tree.
    git = f"file://{Path(__file__).resolve().parents[6]}"

    license("Apache-2.0")

    version("main", branch="main")

    variant("python", default=True, description="The verbs that analyse: show, bounds, plan, report, export, lab")
    variant("tests", default=False, description="Build the tests")
    variant("workloads", default=False, description="Build the workloads, for the studies")
    variant("bench", default=False, description="Build the benchmarks")

    depends_on("c", type="build")
    depends_on("cxx", type="build")

    depends_on("cmake@3.25:", type="build")
    depends_on("pkgconfig", type="build")

    depends_on("hwloc@2.3:")
    depends_on("fmt@9:")
    depends_on("sqlite@3.8.7:")
    depends_on("elfutils@0.161:")
    depends_on("capstone@4:")
    depends_on("libpfm4@4.11:")
    depends_on("cli11@2:", type="build")
    depends_on("nlohmann-json@3:", type="build")
    depends_on("tomlplusplus@3:", type="build")
    depends_on("xxhash", type=("build", "link"))
    depends_on("hdf5@1.10.2:~mpi")
    # Into what enters programs, which may depend on libc alone.
    depends_on("zstd libs=static", type=("build", "link"))
    depends_on("liburing", type=("build", "link"))

    with when("+python"):
        extends("python@3.11:")
        depends_on("py-nanobind@2.4:", type="build")
        depends_on("py-highspy@1.11:1.15", type=("build", "run"))
        depends_on("py-numpy@1.26:", type=("build", "run"))
        depends_on("py-plotly@6:", type=("build", "run"))
        depends_on("py-rich@13.7:", type=("build", "run"))
        depends_on("py-scipy@1.13:", type=("build", "run"))
        depends_on("py-tomli-w@1:", type=("build", "run"))
        depends_on("py-typer@0.12:", type=("build", "run"))

    with when("+tests"):
        depends_on("googletest@1.12:", type=("build", "test"))

    with when("+bench"):
        depends_on("benchmark", type="build")

    # Userfaultfd, NUMA policies, /proc.
    requires("platform=linux")

    def cmake_args(self):
        """The variants, and nothing that would be looked for on the machine."""
        return [
            self.define_from_variant("TERRACE_PYTHON", "python"),
            self.define_from_variant("TERRACE_TESTS", "tests"),
            self.define_from_variant("TERRACE_WORKLOADS", "workloads"),
            self.define_from_variant("TERRACE_BENCH", "bench"),
        ]

    def setup_run_environment(self, env):
        """Names the interpreter with the packages of the Python subcommands, which the launcher starts."""
        if self.spec.satisfies("+python"):
            env.set("TERRACE_PYTHON", self.spec["python"].command.path)
