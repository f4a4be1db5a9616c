"""Makes a Debian package of what a build has built; scripts/deb calls it.

The tools of dpkg-dev do the work. debhelper would compile everything once more, and this Debian lacks Python
packages that the verbs need: those come along, in an environment of the package's own that no other program sees.
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
# What is taken from Debian 12 instead of from PyPI, though older than what is developed with: the test of the
# package runs the verbs with it.
DEBIAN = {"numpy": "python3-numpy", "scipy": "python3-scipy", "tomli-w": "python3-tomli-w"}
OWN = Path("usr/lib/terrace/python")  # the environment, which the launcher looks for


def install(build: Path, tree: Path) -> None:
    """What the build installs, where Debian has it."""
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
                said("strip", "--strip-unneeded", str(path))
        elif path.is_dir():
            path.chmod(0o755)


def wanted(names: list[str]) -> dict[str, Distribution]:
    """Of these packages and of all that they need, those that Debian does not have."""
    found: dict[str, Distribution] = {}
    while names:
        name = normal(names.pop())
        if name in found or name in DEBIAN:
            continue
        found[name] = distribution(name)
        # What is needed on this system and without extras has no condition, or one on the version of Python.
        names += [
            requirement_name(line)
            for line in found[name].requires or []
            if ";" not in line or is_met(line.partition(";")[2])
        ]
    return found


def is_met(condition: str) -> bool:
    """A requirement's condition: pip's own judge of them is the one that there is."""
    from pip._vendor.packaging.markers import Marker

    return bool(Marker(condition.strip()).evaluate({"extra": ""}))


def requirement_name(line: str) -> str:
    """The name that a requirement begins with."""
    return re.findall(r"^[A-Za-z0-9._-]+", line.strip())[0]


def normal(name: str) -> str:
    """A name as packages are compared by."""
    return re.sub(r"[-_.]+", "-", name).lower()


def add_environment(tree: Path) -> None:
    """A virtual environment that sees the system's packages, with those that the system lacks."""
    version = f"python{sysconfig.get_python_version()}"
    packages = tree / OWN / "lib" / version / "site-packages"
    packages.mkdir(parents=True)
    (tree / OWN / "bin").mkdir()
    (tree / OWN / "bin" / "python").symlink_to(f"../../../../bin/{version}")
    (tree / OWN / "pyvenv.cfg").write_text("home = /usr/bin\ninclude-system-site-packages = true\n")
    with (ROOT / "pyproject.toml").open("rb") as file:
        needs = [requirement_name(line) for line in tomllib.load(file)["project"]["dependencies"]]
    for found in wanted(needs).values():
        for file in found.files or []:
            source = Path(str(file.locate()))
            if ".." in file.parts or "__pycache__" in file.parts or not source.exists():
                continue  # what it puts into bin/, and what Python makes anew
            (packages / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, packages / file)
    # The launcher lists the verbs of its interpreter's environment.
    (packages / "terrace").symlink_to("../../../../../python3/dist-packages/terrace")


def add_documents(tree: Path, version: str, maintainer: str) -> None:
    """Copyright and changelog."""
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
    """Of the commit, so that the same commit makes the same package; or SOURCE_DATE_EPOCH."""
    given = os.environ.get("SOURCE_DATE_EPOCH")
    return formatdate(int(given or said("git", "-C", str(ROOT), "log", "-1", "--format=%ct")), localtime=False)


def compress(content: bytes, path: Path) -> None:
    """As Debian's policy wants it."""
    path.write_bytes(gzip.compress(content, 9, mtime=0))


def said(*command: str, folder: Path | None = None) -> str:
    """What a command prints; its failure ends this."""
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder)
    if done.returncode:
        raise SystemExit(f"{command[0]}: {done.stderr.strip()}")
    return done.stdout.strip()


def dependencies(tree: Path) -> str:
    """On libraries, as dpkg-shlibdeps finds them, on the Python that the module is for, and on its packages.

    PyPI's packages ask for libraries of any Linux alone, in versions that are older than those of ours.
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
        line = said("dpkg-shlibdeps", "-O", "--ignore-missing-info", *files, folder=Path(folder))
    minor = sys.version_info.minor
    python = [f"python3 (>= 3.{minor}~)", f"python3 (<< 3.{minor + 1})"]
    return ", ".join([line.removeprefix("shlibs:Depends="), *python, *sorted(DEBIAN.values())])


def add_control(tree: Path, version: str, architecture: str, maintainer: str) -> None:
    """The package's own files."""
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
    """Prints where the package is."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "release", help="build folder")
    parser.add_argument("--output", type=Path, default=ROOT / "dist", help="folder for the package")
    parser.add_argument(
        "--maintainer",
        default="Terrace maintainers <terrace@localhost.localdomain>",
        help="who publishes the package: NAME <ADDRESS>",
    )
    arguments = parser.parse_args()
    cmake = (ROOT / "CMakeLists.txt").read_text()
    version = re.findall(r"^project\(Terrace VERSION ([0-9.]+)", cmake, re.MULTILINE)[0]
    architecture = said("dpkg", "--print-architecture")
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
        said("dpkg-deb", "--root-owner-group", "-Zxz", "-z1", "--build", str(tree), str(package))
    print(package)
    return 0


if __name__ == "__main__":
    sys.exit(main())
