"""A virtual machine with real heterogeneous memory: several NUMA nodes, HMAT tables, the host's own file system.

QEMU's software emulation boots the distribution's cloud kernel with a small initramfs; the root file system is the
host's over virtiofs, read-only under a tmpfs overlay, so programs built on the host run unmodified. Functional
truth only (which page lies where): no timing is taken here.

    python3 tests/guest_bed/vm.py --nodes 512M:cpu,512M -- numactl --hardware

runs a command in the guest, copies its output and ends with its exit status. Needs root (virtiofsd).

A node is SIZE and any of these, separated by colons: `cpu` or `cpu=N` (it has processors), `near=NODE` (the node
whose processors are nearest to it, 0 without), `Lns` (latency), `B` (bandwidth in MiB/s), `dist=A/B` (distances to
the first nodes; the kernel's defaults without), `nvdimm` (a module of non-volatile memory; online_nvdimm.sh makes
memory of it). Where several nodes have processors, L and B may be lists, one figure for each of those nodes:
`100ns/180ns:8192/4096`.
"""

from __future__ import annotations

import argparse
import gzip
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

VIRTIOFSD = Path("/usr/lib/qemu/virtiofsd")
_DIES_WITH_US = ("setpriv", "--pdeathsig", "KILL")  # however this program ends, no guest stays behind
MODULES = (
    "virtio_ring",
    "virtio",
    "virtio_pci_modern_dev",
    "virtio_pci_legacy_dev",
    "virtio_pci",
    "fuse",
    "virtiofs",
    "overlay",
)


@dataclass(frozen=True)
class Node:
    """A NUMA node of the guest. Latencies in ns and bandwidths in MiB/s are what HMAT says of it.

    There is one figure for each node with processors, in their order; the last one holds for all that follow.
    """

    size_mib: int
    processors: int = 0
    nearest: int = 0
    latencies_ns: tuple[int, ...] = (100,)
    bandwidths_mib: tuple[int, ...] = (10240,)
    distances: tuple[int, ...] = ()
    nvdimm: bool = False  # a module of non-volatile memory: no memory of the system until it is brought online


class GuestError(RuntimeError):
    """The guest could not be run; the text says why."""


def missing() -> list[str]:
    """Lists what this host lacks to run guests, a line each; empty if it can."""
    lacks = []
    if not shutil.which("qemu-system-x86_64"):
        lacks.append("qemu-system-x86_64 (package qemu-system-x86)")
    if not VIRTIOFSD.exists():
        lacks.append(f"{VIRTIOFSD} (package qemu-system-common)")
    if not shutil.which("busybox"):
        lacks.append("busybox (package busybox-static)")
    try:
        _kernel()
    except GuestError as error:
        lacks.append(str(error))
    if subprocess.run(["id", "-u"], capture_output=True, text=True).stdout.strip() != "0":
        lacks.append("root (virtiofsd changes its root directory)")
    return lacks


def _kernel() -> tuple[Path, Path]:
    """Returns the newest cloud kernel and its modules."""
    for image in sorted(Path("/boot").glob("vmlinuz-*-cloud-amd64"), reverse=True):
        modules = Path("/lib/modules") / image.name.removeprefix("vmlinuz-")
        if modules.is_dir():
            return image, modules
    raise GuestError("a cloud kernel with modules (package linux-image-cloud-amd64)")


_INIT = """#!/bin/busybox sh
/bin/busybox mkdir -p /proc /sys /dev /host /rw /new
/bin/busybox mount -t proc proc /proc
/bin/busybox mount -t sysfs sys /sys
/bin/busybox mount -t devtmpfs dev /dev
for m in MODULES; do /bin/busybox insmod /$m.ko; done
/bin/busybox mount -t virtiofs -o ro host /host || /bin/busybox poweroff -f
/bin/busybox mount -t tmpfs rw /rw
/bin/busybox mkdir -p /rw/up /rw/work
/bin/busybox mount -t overlay -o lowerdir=/host,upperdir=/rw/up,workdir=/rw/work root /new
for d in proc sys dev; do /bin/busybox mount -o move /$d /new/$d; done
/bin/busybox mkdir -p /new/tmp/out /new/dev/shm
/bin/busybox mount -t tmpfs shm /new/dev/shm
/bin/busybox mount -t virtiofs out /new/tmp/out
/bin/busybox hostname guest
/bin/busybox ip link set lo up
exec /bin/busybox chroot /new /bin/sh /tmp/out/command
"""


def _initramfs(target: Path, modules: Path) -> None:
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        (root / "bin").mkdir()
        busybox = shutil.which("busybox")
        assert busybox is not None
        shutil.copy(busybox, root / "bin" / "busybox")
        for module in MODULES:
            found = next(modules.rglob(f"{module}.ko*"), None)
            if found is None:
                raise GuestError(f"kernel module {module} is not in {modules}")
            shutil.copy(found, root / f"{module}.ko")
        init = root / "init"
        init.write_text(_INIT.replace("MODULES", " ".join(MODULES)))
        init.chmod(0o755)
        names = "\n".join(str(path.relative_to(root)) for path in sorted(root.rglob("*")))
        archive = subprocess.run(
            ["cpio", "-o", "-H", "newc", "--quiet"],
            cwd=root,
            input=names.encode(),
            capture_output=True,
            check=True,
        ).stdout
        target.write_bytes(gzip.compress(archive, 1))


def _numa_arguments(nodes: Sequence[Node]) -> list[str]:
    """Nodes with their processors, in order; every node's memory is described to the guest by HMAT."""
    words: list[str] = []
    used = 0
    for number, node in enumerate(nodes):
        words += ["-object", f"memory-backend-memfd,id=m{number},size={node.size_mib}M,share=on"]
        about = f"node,nodeid={number},initiator={number if node.processors else node.nearest}"
        if node.nvdimm:
            words += ["-device", f"nvdimm,id=nvdimm{number},memdev=m{number},node={number}"]
        else:
            about += f",memdev=m{number}"
        if node.processors:
            about += f",cpus={used}-{used + node.processors - 1}"
            used += node.processors
        words += ["-numa", about]
    initiators = [number for number, node in enumerate(nodes) if node.processors]
    for number, node in enumerate(nodes):
        for index, initiator in enumerate(initiators):
            latency = node.latencies_ns[min(index, len(node.latencies_ns) - 1)]
            bandwidth = node.bandwidths_mib[min(index, len(node.bandwidths_mib) - 1)]
            common = f"hmat-lb,initiator={initiator},target={number},hierarchy=memory"
            words += ["-numa", f"{common},data-type=access-latency,latency={latency}"]
            words += ["-numa", f"{common},data-type=access-bandwidth,bandwidth={bandwidth}M"]
    for number, node in enumerate(nodes):
        for other, value in enumerate(node.distances):
            words += ["-numa", f"dist,src={number},dst={other},val={value}"]
    return words


def _serve(tag: str, source: str, options: str, folder: Path) -> subprocess.Popen[bytes]:
    """Starts a daemon that shows a folder of the host to the guest, in a mount namespace of its own."""
    words = f"unshare -m {VIRTIOFSD} --socket-path={folder / tag}.sock -o source={source} -o sandbox=chroot"
    command = [*_DIES_WITH_US, *words.split(), "-o", options]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _qemu(kernel: Path, nodes: Sequence[Node], folder: Path) -> list[str]:
    total = sum(node.size_mib for node in nodes if not node.nvdimm)
    modules = sum(node.nvdimm for node in nodes)
    room = sum(node.size_mib for node in nodes) + 128 * (modules + 1)
    sockets = sum(node.processors > 0 for node in nodes)
    machine = "q35,hmat=on" + (",nvdimm=on" if modules else "")
    memory = f"{total}M" + (f",slots={modules},maxmem={room}M" if modules else "")
    # The emulator executes `rep movsb` byte by byte. Without erms and fsrm, the kernel and the C library copy and
    # clear in loops of wide moves: a guest takes about half the time.
    words = f"qemu-system-x86_64 -machine {machine} -accel tcg,thread=multi -cpu max,erms=off,fsrm=off -m {memory}"
    words += f" -smp {sum(node.processors for node in nodes)},sockets={sockets}"
    words += f" -nodefaults -no-reboot -display none -serial file:{folder / 'console'}"
    words += f" -kernel {kernel} -initrd {folder / 'initramfs'}"
    command = [*_DIES_WITH_US, *words.split(), *_numa_arguments(nodes)]
    options = "numa_balancing=disable swiotlb=noforce nokaslr mitigations=off"
    command += ["-append", f"console=ttyS0 quiet panic=-1 {options}"]
    for tag in ("host", "out"):
        command += ["-chardev", f"socket,id=c{tag},path={folder / tag}.sock"]
        command += ["-device", f"vhost-user-fs-pci,chardev=c{tag},tag={tag}"]
    return command


def run(
    command: Sequence[str],
    nodes: Sequence[Node],
    *,
    cwd: Path | None = None,
    out: Path | None = None,
    timeout: float = 300,
) -> tuple[int, str]:
    """Runs a command in a fresh guest: its exit status, and what it wrote to both outputs.

    Files that it leaves in /tmp/out are copied to `out`. Raises GuestError when the guest does not come up or does
    not end within `timeout` seconds.
    """
    lacks = missing()
    if lacks:
        raise GuestError("no guest here, for want of " + "; ".join(lacks))
    kernel, modules = _kernel()
    with tempfile.TemporaryDirectory(prefix="terrace-guest-") as name:
        folder = Path(name)
        shared = folder / "out"
        shared.mkdir()
        _initramfs(folder / "initramfs", modules)
        (shared / "command").write_text(
            "export PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin HOME=/root\n"
            f"cd {shlex.quote(str(cwd or Path.cwd()))}\n"
            f"{shlex.join(command)} > /tmp/out/output 2>&1 < /dev/null\n"
            "echo $? > /tmp/out/status\nsync\n/bin/busybox poweroff -f\n"
        )
        daemons: list[subprocess.Popen[bytes]] = []
        try:
            daemons.append(_serve("host", "/", "cache=always", folder))
            daemons.append(_serve("out", str(shared), "cache=none", folder))
            for tag in ("host", "out"):
                _wait_for(folder / f"{tag}.sock", daemons)
            try:
                ended = subprocess.run(
                    _qemu(kernel, nodes, folder), capture_output=True, text=True, timeout=timeout
                )
            except subprocess.TimeoutExpired:
                raise GuestError(f"the guest did not end in {timeout:.0f} s; console: {_tail(folder)}") from None
            status = shared / "status"
            if not status.exists():
                said = ended.stderr.strip()[-300:]
                raise GuestError(
                    f"the guest ended without a result (status {ended.returncode}): {said} {_tail(folder)}"
                )
            if out is not None:
                shutil.copytree(shared, out, dirs_exist_ok=True)
            return int(status.read_text()), (shared / "output").read_text(errors="replace")
        finally:
            for daemon in daemons:
                daemon.terminate()
                daemon.wait()


def _wait_for(path: Path, daemons: Sequence[subprocess.Popen[bytes]]) -> None:
    """Waits until the daemon listens; a daemon that ends first is an error."""
    import time

    deadline = time.monotonic() + 20
    while not path.exists():
        if any(daemon.poll() is not None for daemon in daemons) or time.monotonic() > deadline:
            raise GuestError("virtiofsd did not start")
        time.sleep(0.02)


def _tail(folder: Path) -> str:
    console = folder / "console"
    return console.read_text(errors="replace").strip()[-400:] if console.exists() else "(no console)"


def parse_nodes(text: str) -> list[Node]:
    """Parses "512M:cpu,512M:400ns:2000" into nodes; the module's docstring explains the words."""
    nodes = []
    for word in text.split(","):
        size, *rest = word.split(":")
        made: dict[str, Any] = {}
        for part in rest:
            name, _, value = part.partition("=")
            if name == "cpu":
                made["processors"] = int(value or 2)
            elif name == "near":
                made["nearest"] = int(value)
            elif name == "nvdimm":
                made["nvdimm"] = True
            elif name == "dist":
                made["distances"] = tuple(int(one) for one in value.split("/"))
            elif part.endswith("ns"):
                made["latencies_ns"] = tuple(int(one.removesuffix("ns")) for one in part.split("/"))
            else:
                made["bandwidths_mib"] = tuple(int(one) for one in part.split("/"))
        nodes.append(Node(int(size.removesuffix("M")), **made))
    return nodes


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--nodes", default="512M:cpu:100ns:16384,512M:400ns:2048")
    parser.add_argument("--timeout", type=float, default=300)
    parser.add_argument("command", nargs=argparse.REMAINDER)
    arguments = parser.parse_args()
    command = arguments.command[1:] if arguments.command[:1] == ["--"] else arguments.command
    try:
        status, output = run(command, parse_nodes(arguments.nodes), timeout=arguments.timeout)
    except GuestError as error:
        print(f"guest: {error}", file=sys.stderr)
        return 1
    sys.stdout.write(output)
    return status


if __name__ == "__main__":
    sys.exit(main())
