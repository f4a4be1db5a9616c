# SPDX-License-Identifier: Apache-2.0
"""Starts a Slurm cluster of two nodes on this machine, in a temporary folder, for tests of programs in batch jobs.

Authentication (munged), controller (slurmctld) and a daemon for each node (slurmd -N) run with a configuration of
their own; /etc/slurm and /run stay unchanged. Both nodes are this machine, and share its memory and cores. Each
node has HBM_MIB of the generic resource `hbm`, which only counts (no device file).
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

DAEMONS = ("munged", "slurmctld", "slurmd")
CLIENTS = ("srun", "sbatch", "scancel", "scontrol")
NODES = ("n1", "n2")
HBM_MIB = 8000
SECONDS = 60.0  # limit of each wait

# proctrack/pgid and task/none work without control groups. Each node has its own TmpFS, because PMIx's plugins of
# nodes that share it would make the same files.
CONFIGURATION = """\
ClusterName=terrace
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller_port}
SlurmctldPidFile={folder}/slurmctld.pid
SlurmctldLogFile={folder}/slurmctld.log
StateSaveLocation={folder}/state
SlurmUser=root
SlurmdUser=root
SlurmdSpoolDir={folder}/spool.%n
SlurmdPidFile={folder}/slurmd.%n.pid
SlurmdLogFile={folder}/slurmd.%n.log
TmpFS={folder}/tmp.%n
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CryptoType=crypto/munge
CommunicationParameters=NoAddrCache
ProctrackType=proctrack/pgid
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
MpiDefault=none
SwitchType=switch/none
ReturnToService=2
InactiveLimit=0
KillWait=3
SchedulerParameters=sched_min_interval=100000,bf_interval=1
GresTypes=hbm
NodeName=n[1-2] NodeHostname={host} NodeAddr=127.0.0.1 Port=[{ports}] CPUs=4 Gres=hbm:{hbm} State=UNKNOWN
PartitionName=all Nodes=n[1-2] Default=YES MaxTime=10 State=UP OverSubscribe=YES
"""

# Namespaces of all processes of the cluster: when the first process is killed, the kernel kills the rest. It kills
# the first one when the test's process ends, however that is.
NAMESPACES = (
    "setpriv",
    "--pdeathsig",
    "KILL",
    "unshare",
    "--pid",
    "--ipc",
    "--mount",
    "--fork",
    "--kill-child",
    "--mount-proc",
)
DAEMONS_SCRIPT = """\
mount -t tmpfs shm /dev/shm || exit
munged --foreground --force --key-file={folder}/munge.key --socket={folder}/munge.socket \\
  --pid-file={folder}/munged.pid --log-file={folder}/munged.log --seed-file={folder}/munged.seed &
until test -S {folder}/munge.socket || ! kill -0 $!; do sleep 0.02; done
slurmctld -D -f {folder}/slurm.conf &
slurmd -D -N n1 -f {folder}/slurm.conf &
slurmd -D -N n2 -f {folder}/slurm.conf &
wait
"""


# Variables of Open MPI under root. Its shared-memory transport would cross the nodes, which are one host.
OPEN_MPI = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_pml": "ob1",
    "OMPI_MCA_btl": "self,tcp",
    "OMPI_MCA_btl_tcp_if_include": "lo",
    "OMPI_MCA_mpi_yield_when_idle": "1",
}


class SlurmError(Exception):
    """The cluster does not start or answer; the text has the end of the logs."""


def why_not_available() -> str:
    """Returns why no cluster can be started here; "" if one can."""
    path = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
    missing = [name for name in (*DAEMONS, *CLIENTS) if shutil.which(name, path=path) is None]
    if missing:
        return f"Slurm is not installed: {', '.join(missing)} missing"
    if os.geteuid() != 0:
        return "slurmd needs root"
    tried = subprocess.run([*NAMESPACES, "true"], capture_output=True, text=True)
    return "" if tried.returncode == 0 else f"no namespaces of its own: {tried.stderr.strip()}"


def free_ports(count: int) -> int:
    """Returns the first of some consecutive TCP ports that are free now."""
    for first in range(20000 + os.getpid() % 10000, 60000, count):
        sockets = [socket.socket() for _ in range(count)]
        try:
            for number, one in enumerate(sockets):
                one.bind(("127.0.0.1", first + number))
            return first
        except OSError:
            continue
        finally:
            for one in sockets:
                one.close()
    raise SlurmError("no free TCP ports")


class Cluster:
    """A running cluster. Its commands need `environment`; `folder` has its logs and temporary folders."""

    def __init__(self, folder: Path, more: str = "") -> None:
        self.folder = folder
        self._more = more
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("SLURM_")},
            "SLURM_CONF": str(folder / "slurm.conf"),
            "PATH": f"{os.environ.get('PATH', '/usr/bin')}:/usr/sbin:/sbin",
        }
        self._daemons: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Starts all daemons and waits until both nodes are idle. Raises SlurmError."""
        self._write_files()
        with (self.folder / "daemons.output").open("wb") as output:
            self._daemons = subprocess.Popen(
                [*NAMESPACES, "bash", self.folder / "daemons.sh"], env=self.environment, cwd=self.folder,
                stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True,
            )  # fmt: skip
        self._wait("the nodes", lambda: self._states() == {"idle": len(NODES)})

    def stop(self) -> None:
        """Cancels all jobs and ends all processes of the cluster; the kernel removes their shared memory."""
        if self._daemons is None:
            return
        if self._daemons.poll() is None:
            self.run("scancel", "--user=root", check=False)
            self.wait_until(lambda: not self._states() or not self.run("squeue", "-h", check=False).stdout)
        self._daemons.kill()
        self._daemons.wait()
        self.wait_until(lambda: not self.processes())

    def run(self, *words: object, check: bool = True, env: Mapping[str, str] | None = None,
            cwd: Path | None = None, limit: float = SECONDS) -> subprocess.CompletedProcess[str]:  # fmt: skip
        """Runs a command of the cluster and returns its output. Raises SlurmError if it fails, unless `check` is
        False.
        """
        done = subprocess.run(
            [str(word) for word in words], env={**self.environment, **(env or {})}, cwd=cwd or self.folder,
            text=True, capture_output=True, timeout=limit,
        )  # fmt: skip
        if check and done.returncode != 0:
            raise SlurmError(f"{' '.join(map(str, words))}: {done.returncode}\n{done.stdout}{done.stderr}")
        return done

    def submit(self, script: str, *options: object, cwd: Path, env: Mapping[str, str] | None = None) -> str:
        """Submits a script and returns the job's number. Its output goes to `slurm-JOB.out` in `cwd`."""
        path = cwd / "job.sh"
        path.write_text(f"#!/bin/bash\n{script}\n", encoding="utf-8")
        return self.run("sbatch", "--parsable", *options, path, cwd=cwd, env=env).stdout.split(";")[0].strip()

    def wait_for(self, job: str) -> None:
        """Waits until no task of the job is queued, runs or completes. Raises SlurmError."""
        self._wait(f"job {job}", lambda: not self.run("squeue", "-h", "-j", job, check=False).stdout.strip())

    def wait_until(self, holds: Callable[[], object]) -> bool:
        """Waits until the condition holds. Returns False after the limit."""
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            if holds():
                return True
            time.sleep(0.05)
        return False

    def processes(self) -> list[int]:
        """Returns the live processes of the cluster and its jobs, by the configuration in their environment. The
        daemons are listed too while they run.
        """
        wanted = f"SLURM_CONF={self.folder}/slurm.conf".encode()
        found = []
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit() or int(entry.name) == os.getpid():
                continue
            try:
                if wanted in (entry / "environ").read_bytes().split(b"\0"):
                    found.append(int(entry.name))
            except OSError:  # it has ended
                continue
        return found

    def _write_files(self) -> None:
        first = free_ports(1 + len(NODES))
        (self.folder / "state").mkdir()
        for node in NODES:
            (self.folder / f"spool.{node}").mkdir()
            (self.folder / f"tmp.{node}").mkdir()
        text = CONFIGURATION.format(
            host=socket.gethostname().split(".")[0], folder=self.folder, controller_port=first,
            ports=f"{first + 1}-{first + len(NODES)}", hbm=HBM_MIB,
        )  # fmt: skip
        (self.folder / "slurm.conf").write_text(text + self._more, encoding="utf-8")
        (self.folder / "gres.conf").write_text(f"Name=hbm Count={HBM_MIB} Flags=CountOnly\n", encoding="utf-8")
        (self.folder / "cgroup.conf").write_text("CgroupAutomount=no\n", encoding="utf-8")
        (self.folder / "daemons.sh").write_text(DAEMONS_SCRIPT.format(folder=self.folder), encoding="utf-8")
        key = self.folder / "munge.key"
        key.touch(mode=0o600)
        key.write_bytes(os.urandom(128))

    def _states(self) -> dict[str, int]:
        """Returns the number of nodes in each state."""
        text = self.run("sinfo", "-h", "-o", "%D %t", check=False).stdout
        return {state: int(count) for count, state in re.findall(r"(\d+) (\S+)", text)}

    def _wait(self, what: str, holds: Callable[[], object]) -> None:
        if not self.wait_until(holds):
            raise SlurmError(f"{what}: no answer within {SECONDS:g} s\n{self._logs()}")

    def _logs(self) -> str:
        files = [*self.folder.glob("*.log"), *self.folder.glob("*.output")]
        return "\n".join(f"{file.name}: {file.read_text(errors='replace')[-1500:]}" for file in sorted(files))


@contextmanager
def cluster(more: str = "") -> Iterator[Cluster]:
    """Runs a cluster, with some more lines of slurm.conf, and removes all of it at the end. Requires
    why_not_available() to be "".
    """
    folder = Path(tempfile.mkdtemp(prefix="terrace-slurm-", dir="/tmp"))
    folder.chmod(0o755)  # munged requires that others can enter the folder of its socket
    running = Cluster(folder, more)
    try:
        running.start()
        yield running
    finally:
        running.stop()
        shutil.rmtree(folder)
