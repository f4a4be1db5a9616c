"""Out-of-core memory with custom allocators, which map data while holding their lock."""

import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import TERRACE, run

JEMALLOC = next(iter(map(str, Path("/usr/lib").glob("*/libjemalloc.so.2"))), None)
KEYS, SIZE = 6000, 20000


@pytest.mark.skipif(JEMALLOC is None, reason="no jemalloc")
@pytest.mark.parametrize("memory", ["64MiB", "512MiB"])
def test_jemalloc_runs_with_backing_file(disk, memory):
    code = (
        "data = [bytes([i % 251]) * 200_000 for i in range(600)]; print(sum(one[i] for i, one in enumerate(data)))"
    )
    env = {**os.environ, "LD_PRELOAD": JEMALLOC}
    done = run(
        "--memory",
        memory,
        "--spill",
        disk,
        "--",
        "timeout",
        "-s",
        "KILL",
        "60",
        sys.executable,
        "-c",
        code,
        env=env,
    )
    assert (done.returncode, done.stdout) == (0, f"{sum(i % 251 for i in range(600))}\n")


def value(key: int) -> bytes:
    return (b"%08d" % (key * 48271 % 10**8)) * (SIZE // 8)


def command(*words: bytes) -> bytes:
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words)


@pytest.mark.skipif(shutil.which("redis-server") is None, reason="no redis-server")
@pytest.mark.parametrize("memory", ["512MiB", "64MiB"], ids=["well above its data", "below its data"])
def test_redis_keeps_its_data(tmp_path, disk, memory):
    path = tmp_path / "socket"
    words = ["redis-server", "--port", "0", "--unixsocket", str(path), "--save", "", "--dir", str(tmp_path)]
    ours = [TERRACE, "run", "--memory", memory, "--spill", disk, "--", "timeout", "-s", "KILL", "300", *words]
    with subprocess.Popen(ours, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as server:
        try:
            while not path.exists():
                assert server.poll() is None
                time.sleep(0.02)
            with socket.socket(socket.AF_UNIX) as client:
                client.settimeout(300)
                client.connect(str(path))
                stream = client.makefile("rwb")
                for key in range(KEYS):
                    stream.write(command(b"SET", b"key:%d" % key, value(key)))
                    stream.flush()
                    assert stream.readline() == b"+OK\r\n"
                for key in (one * 4799 % KEYS for one in range(KEYS)):
                    stream.write(command(b"GET", b"key:%d" % key))
                    stream.flush()
                    assert stream.readline() == b"$%d\r\n" % SIZE
                    assert stream.read(SIZE + 2) == value(key) + b"\r\n"
        finally:
            server.terminate()
        said = server.communicate(timeout=300)[1]
    assert server.returncode == 0
    assert ("all of its data fitted" if memory == "512MiB" else "of data in 64MiB of memory: read") in said
