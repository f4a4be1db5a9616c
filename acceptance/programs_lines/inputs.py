"""Makes the inputs of the programs in cases.py. Each function fills the folder that a run begins in; all are the
same in every run."""

from __future__ import annotations

import math
from pathlib import Path

from harness import SETTINGS


def scaled(count: float) -> int:
    """Returns --size times an input's size."""
    return max(1, int(count * SETTINGS.size))


def _side(cells: int) -> int:
    """Returns the side of a cube with --size times the cells."""
    return max(4, round(cells * math.cbrt(SETTINGS.size)))


# Systems as in LAMMPS's benchmark: a liquid of Lennard-Jones atoms, copper by an embedded-atom potential,
# bead-spring chains with FENE bonds.
_LIQUID = """units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 {side} 0 {side} 0 {side}
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 1.44 87287 loop geom
pair_style lj/cut {cutoff}
pair_coeff 1 1 1.0 1.0 {cutoff}
neighbor 0.3 bin
neigh_modify delay 0 every {every} check no
fix 1 all nve
thermo {thermo}
run {steps}
"""

_COPPER = """units metal
atom_style atomic
lattice fcc 3.615
region box block 0 {side} 0 {side} 0 {side}
create_box 1 box
create_atoms 1 box
pair_style eam
pair_coeff 1 1 /usr/share/lammps/potentials/Cu_u3.eam
velocity all create 1600.0 376847 loop geom
neighbor 1.0 bin
neigh_modify every 1 delay 5 check yes
fix 1 all nve
timestep 0.005
thermo 10
run 40
"""

_CHAINS = """units lj
atom_style bond
special_bonds fene
read_data data.chain
neighbor 0.4 bin
neigh_modify every 1 delay 1
bond_style fene
bond_coeff 1 30.0 1.5 1.0 1.0
pair_style lj/cut 1.12
pair_modify shift yes
pair_coeff 1 1 1.0 1.0 1.12
velocity all create 1.0 17786140 loop geom
fix 1 all nve
fix 2 all langevin 1.0 1.0 10.0 904297
thermo 50
timestep 0.003
run 200
"""


def make_liquid(folder: Path) -> None:
    text = _LIQUID.format(side=_side(64), cutoff=2.5, every=4, thermo=2, steps=8)
    (folder / "in.lj").write_text(text)


def make_short_range_liquid(folder: Path) -> None:
    """Makes an input for guests: atoms that only repel each other have few neighbours, so that many equal steps
    can be made. Their number makes arrays of 4 MiB and more."""
    text = _LIQUID.format(side=36, cutoff=1.122, every=1, thermo=50, steps=100)
    (folder / "in.lj").write_text(text)


def make_copper(folder: Path) -> None:
    (folder / "in.eam").write_text(_COPPER.format(side=_side(20)))


def make_chains(folder: Path) -> None:
    """Makes chains, each a line of a cubic lattice, which is straight at first."""
    side, length = _side(32), 0.97
    atoms: list[str] = []
    bonds: list[str] = []
    for chain in range(side * side):
        x, y = divmod(chain, side)
        for bead in range(side):
            number = chain * side + bead + 1
            atoms.append(f"{number} {chain + 1} 1 {x * 1.0:.2f} {y * 1.0:.2f} {bead * length:.4f}")
            if bead + 1 < side:
                bonds.append(f"{len(bonds) + 1} 1 {number} {number + 1}")
    head = (
        f"chains\n\n{len(atoms)} atoms\n{len(bonds)} bonds\n\n1 atom types\n1 bond types\n\n0 {side} xlo xhi\n"
        f"0 {side} ylo yhi\n0 {side * length + 0.2:.4f} zlo zhi\n\nMasses\n\n1 1.0\n\nAtoms\n\n"
    )
    (folder / "data.chain").write_text(head + "\n".join(atoms) + "\n\nBonds\n\n" + "\n".join(bonds) + "\n")
    (folder / "in.chain").write_text(_CHAINS)


def make_hpcc(folder: Path) -> None:
    """Makes the package's own example, for one process and a matrix of another size."""
    lines = Path("/usr/share/doc/hpcc/examples/_hpccinf.txt").read_text().splitlines()
    rows = max(1000, round(4500 * math.sqrt(SETTINGS.size)))
    for number, value in ((5, f"{rows}         Ns"), (10, "1            Ps"), (11, "1            Qs")):
        lines[number] = value
    (folder / "hpccinf.txt").write_text("\n".join(lines) + "\n")


# Rows that a recurrence makes; half a gigabyte with its indices.
_SQL = """PRAGMA journal_mode=OFF;
CREATE TABLE item(id INTEGER PRIMARY KEY, grp INTEGER, weight REAL, name TEXT);
WITH RECURSIVE number(n) AS (VALUES(1) UNION ALL SELECT n + 1 FROM number WHERE n < {rows})
INSERT INTO item SELECT n, (n * 7919) % 9973, (n * 31 % 1000) / 7.0,
  printf('item-%08d-%s', n * 48271 % 2147483647, substr('{text}', n % 40 + 1, 120)) FROM number;
CREATE INDEX by_name ON item(name);
CREATE INDEX by_group ON item(grp, weight);
UPDATE item SET weight = weight * 2 WHERE grp % 5 = 0;
DELETE FROM item WHERE id % 17 = 0;
SELECT count(*), sum(grp), round(sum(weight), 6), min(name), max(name) FROM item;
SELECT grp, count(*), round(avg(weight), 9) FROM item GROUP BY grp ORDER BY 2 DESC, 1 LIMIT 40;
SELECT a.name, b.id FROM item a JOIN item b ON a.grp = b.grp AND a.id < b.id WHERE a.id < 400
  ORDER BY 1, 2 LIMIT 200;
SELECT count(*) FROM item WHERE name LIKE '%00%7';
PRAGMA integrity_check;
"""


def make_sqlite(folder: Path) -> None:
    text = "the quick brown fox jumps over the lazy dog " * 4
    (folder / "load.sql").write_text(_SQL.format(rows=scaled(900_000), text=text))
    (folder / "run.sh").write_text('exec "$@" sqlite3 -batch :memory: <load.sql\n')


_REDIS = """set -e
"$@" redis-server --port 0 --unixsocket "$PWD/socket" --save '' --appendonly no --enable-debug-command yes \
  --logfile server.log --dir "$PWD" &
server=$!
for turn in $(seq 200); do redis-cli -s socket ping >/dev/null 2>&1 && break; sleep 0.02; done
redis-cli -s socket --pipe <load.resp | grep -c 'errors: 0'
for kind in incr lpush rpush sadd hset zadd get; do
  redis-benchmark -s socket -t $kind -n {requests} -P 16 -q >/dev/null
done
redis-cli -s socket dbsize
redis-cli -s socket debug digest
redis-cli -s socket lrange mylist 0 2
redis-cli -s socket shutdown nosave || true
status=0
wait $server || status=$?
echo "status $status"
exit $status
"""


def make_redis(folder: Path) -> None:
    (folder / "run.sh").write_text(_REDIS.replace("{requests}", str(scaled(100_000))))
    with (folder / "load.resp").open("w") as out:
        for number in range(scaled(250_000)):
            words = ("SET", f"key:{number * 48271 % 2147483647:010d}", f"{number:08x}" * (60 + number % 120))
            out.write(f"*{len(words)}\r\n" + "".join(f"${len(word)}\r\n{word}\r\n" for word in words))


# make SCALE SERVER, or run TRANSACTIONS SERVER [words in front of the server].
POSTGRES = """set -e
what=$1 count=$2 server=$3
shift 3
tools=$(dirname "$server")
as() { runuser -u postgres -- "$@"; }
chown postgres . && chmod 711 .. .
settings="-D $PWD/data -k $PWD -c listen_addresses= -c shared_buffers=256MB -c fsync=off -c autovacuum=off"
if [ $what = make ]; then as "$tools/initdb" -D data --no-sync -E UTF8 --locale=C >/dev/null; fi
as "$@" "$server" $settings >server.log 2>server.err &
launched=$!
for turn in $(seq 500); do as "$tools/pg_isready" -q -h "$PWD" && break; sleep 0.02; done
query() { as psql -X -A -t -q -h "$PWD" -c "$1" postgres; }
if [ $what = make ]; then
  as pgbench -i -q -s $count -h "$PWD" postgres 2>/dev/null
else
  as pgbench -n -c 1 -t $count --random-seed=7 -h "$PWD" postgres 2>&1 |
    grep -E '^(transaction type|scaling factor|number of transactions actually|number of failed)'
  query 'select (select sum(abalance) from pgbench_accounts) = (select sum(bbalance) from pgbench_branches)
    and (select sum(tbalance) from pgbench_tellers) = (select sum(delta) from pgbench_history)
    and (select sum(abalance) from pgbench_accounts) = (select sum(delta) from pgbench_history)'
  query "select md5(string_agg(aid || ':' || abalance, ',' order by aid)) from pgbench_accounts"
  query "select md5(string_agg(tid || ':' || tbalance, ',' order by tid)), count(*) from pgbench_tellers"
  query "select count(*), sum(delta), sum(aid::bigint) from pgbench_history"
fi
kill -INT $(head -1 data/postmaster.pid)
status=0
wait $launched || status=$?
grep terrace: server.err >&2 || true
echo "status $status"
exit $status
"""

BUILD = """set -e
for file in src/foundation/core/*.cpp; do
  g++ -std=c++20 -O2 -Iinclude -Isrc/foundation -c "$file" -o "$(echo ${file%.cpp}.o | tr / _)" || exit 1
done
ls *.o | wc -l
"""
