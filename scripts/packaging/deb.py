# SPDX-License-Identifier: Apache-2.0
"""Makes a Debian package of a build; scripts/deb calls it.

It uses the tools of dpkg-dev, because debhelper would compile everything again. Python packages that the
subcommands need and that this release of Debian lacks are included, in a private environment of the package.
"""

import argparse
import gzip
import hashlib
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import tomllib
from email.utils import formatdate
from importlib.metadata import Distribution, distribution
from pathlib import Path

import elf

ROOT = Path(__file__).resolve().parents[2]
PACKAGING = ROOT / "packaging" / "debian"
# Packages from Debian 12 instead of PyPI, although older than those of the developers: the test of the package
# runs the subcommands with them.
DEBIAN = {"numpy": "python3-numpy", "scipy": "python3-scipy", "tomli-w": "python3-tomli-w"}
OWN = Path("usr/lib/terrace/python")  # the environment, where the launcher searches it


def install(build: Path, tree: Path) -> None:
    """Installs the build into the folders of Debian."""
    usr = tree / "usr"
    command = ["cmake", "--install", str(build), "--prefix", str(usr), "--strip"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    packages = usr / "lib" / "python3" / "dist-packages"
    packages.mkdir(parents=True)
    (built,) = usr.glob("lib/python3.*")
    shutil.move(built / "site-packages" / "terrace", packages)
    shutil.rmtree(built)
    shutil.move(usr / "share" / "zsh" / "site-functions", usr / "share" / "zsh" / "vendor-completions")
    for page in usr.glob("share/man/man1/*.1"):
        compress(page.read_bytes(), page.with_name(page.name + ".gz"))
        page.unlink()
    for path in list(tree.rglob("*")):
        if path.is_file() and not path.is_symlink():
            is_program = path.stat().st_mode & 0o100 and not path.name.endswith(".so")
            path.chmod(0o755 if is_program else 0o644)
            if elf.is_elf(path):
                output_of("strip", "--strip-unneeded", str(path))
        elif path.is_dir():
            path.chmod(0o755)


def missing_in_debian(names: list[str]) -> dict[str, Distribution]:
    """Returns those of the packages and their dependencies that Debian does not have."""
    found: dict[str, Distribution] = {}
    while names:
        name = normal(names.pop())
        if name in found or name in DEBIAN:
            continue
        found[name] = distribution(name)
        # Skip dependencies for other systems and for extras.
        names += [
            requirement_name(line)
            for line in found[name].requires or []
            if ";" not in line or is_met(line.partition(";")[2])
        ]
    return found


def is_met(condition: str) -> bool:
    """Evaluates a requirement's condition, with pip's implementation."""
    from pip._vendor.packaging.markers import Marker

    return bool(Marker(condition.strip()).evaluate({"extra": ""}))


def requirement_name(line: str) -> str:
    """Returns the name of a requirement."""
    return re.findall(r"^[A-Za-z0-9._-]+", line.strip())[0]


def normal(name: str) -> str:
    """Returns the normalised name of a package (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def add_environment(tree: Path) -> None:
    """Adds a virtual environment with access to the system's packages, and with those that the system lacks."""
    version = f"python{sysconfig.get_python_version()}"
    packages = tree / OWN / "lib" / version / "site-packages"
    packages.mkdir(parents=True)
    (tree / OWN / "bin").mkdir()
    (tree / OWN / "bin" / "python").symlink_to(f"../../../../bin/{version}")
    (tree / OWN / "pyvenv.cfg").write_text("home = /usr/bin\ninclude-system-site-packages = true\n")
    with (ROOT / "pyproject.toml").open("rb") as file:
        needs = [requirement_name(line) for line in tomllib.load(file)["project"]["dependencies"]]
    for found in missing_in_debian(needs).values():
        for file in found.files or []:
            source = Path(str(file.locate()))
            if ".." in file.parts or "__pycache__" in file.parts or not source.exists():
                continue  # scripts in bin/, and caches of Python
            (packages / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, packages / file)
    # The launcher lists the subcommands in its interpreter's environment.
    (packages / "terrace").symlink_to("../../../../../python3/dist-packages/terrace")


def add_documents(tree: Path, version: str, maintainer: str) -> None:
    """Adds copyright and changelog to the package's tree."""
    folder = tree / "usr" / "share" / "doc" / "terrace"
    folder.mkdir(parents=True)
    shutil.copyfile(PACKAGING / "copyright", folder / "copyright")
    entry = f"terrace ({version}) unstable; urgency=medium\n\n  * See CHANGES.gz.\n\n -- {maintainer}  {date()}\n"
    compress(entry.encode(), folder / "changelog.gz")
    compress((ROOT / "CHANGELOG.md").read_bytes(), folder / "CHANGES.gz")
    overrides = tree / "usr" / "share" / "lintian" / "overrides"
    overrides.mkdir(parents=True)
    shutil.copyfile(PACKAGING / "lintian-overrides", overrides / "terrace")


def date() -> str:
    """Returns SOURCE_DATE_EPOCH, or the commit's date, so that packages are reproducible."""
    given = os.environ.get("SOURCE_DATE_EPOCH")
    return formatdate(
        int(given or output_of("git", "-C", str(ROOT), "log", "-1", "--format=%ct")), localtime=False
    )


def compress(content: bytes, path: Path) -> None:
    """Compresses as Debian's policy requires."""
    path.write_bytes(gzip.compress(content, 9, mtime=0))


def output_of(*command: str, folder: Path | None = None) -> str:
    """Returns a command's standard output. Raises SystemExit if it fails."""
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder)
    if done.returncode:
        raise SystemExit(f"{command[0]}: {done.stderr.strip()}")
    return done.stdout.strip()


def dependencies(tree: Path) -> str:
    """Returns the dependencies on libraries (dpkg-shlibdeps), the module's version of Python, and its packages.

    Packages of PyPI are not examined: they need only older versions of libraries that every Linux has.
    """
    files = [
        str(path)
        for path in tree.rglob("*")
        if path.is_file() and not path.is_symlink() and elf.is_elf(path) and tree / OWN not in path.parents
    ]
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "debian").mkdir()
        (Path(folder) / "debian" / "control").write_text(
            "Source: terrace\n\nPackage: terrace\nArchitecture: any\n"
        )
        line = output_of("dpkg-shlibdeps", "-O", "--ignore-missing-info", *files, folder=Path(folder))
    minor = sys.version_info.minor
    python = [f"python3 (>= 3.{minor}~)", f"python3 (<< 3.{minor + 1})"]
    return ", ".join([line.removeprefix("shlibs:Depends="), *python, *sorted(DEBIAN.values())])


def add_control(tree: Path, version: str, architecture: str, maintainer: str) -> None:
    """Adds the control files of the package."""
    files = sorted(path for path in tree.rglob("*") if path.is_file() and not path.is_symlink())
    facts = {
        "VERSION": version,
        "ARCHITECTURE": architecture,
        "MAINTAINER": maintainer,
        "SIZE": str(sum(-(-path.stat().st_size // 1024) for path in files)),
        "DEPENDS": dependencies(tree),
    }
    control = (PACKAGING / "control").read_text()
    for name, value in facts.items():
        control = control.replace(f"@{name}@", value)
    folder = tree / "DEBIAN"
    folder.mkdir()
    (folder / "control").write_text(control)
    sums = [f"{hashlib.md5(path.read_bytes()).hexdigest()}  {path.relative_to(tree)}\n" for path in files]
    (folder / "md5sums").write_text("".join(sums))
    for script in ("postinst", "prerm"):
        shutil.copyfile(PACKAGING / script, folder / script)
        (folder / script).chmod(0o755)


def main() -> int:
    """Makes the package, and prints its path."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "release", help="build folder")
    parser.add_argument("--output", type=Path, default=ROOT / "dist", help="folder for the package")
    parser.add_argument(
        "--maintainer",
        default="Terrace maintainers <terrace@localhost.localdomain>",
        help="maintainer of the package: NAME <ADDRESS>",
    )
    arguments = parser.parse_args()
    cmake = (ROOT / "CMakeLists.txt").read_text()
    version = re.findall(r"^project\(Terrace VERSION ([0-9.]+)", cmake, re.MULTILINE)[0]
    architecture = output_of("dpkg", "--print-architecture")
    arguments.output.mkdir(parents=True, exist_ok=True)
    package = arguments.output / f"terrace_{version}_{architecture}.deb"
    os.umask(0o022)
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "terrace"
        tree.mkdir()
        install(arguments.build.resolve(), tree)
        add_environment(tree)
        add_documents(tree, version, arguments.maintainer)
        add_control(tree, version, architecture, arguments.maintainer)
        output_of("dpkg-deb", "--root-owner-group", "-Zxz", "-z1", "--build", str(tree), str(package))
    print(package)
    return 0


if __name__ == "__main__":
    sys.exit(main())
