"""Compares exact top-10 search with numpy, faiss, usearch and sqlite-vec on the same vectors, alternating.

    pip install numpy faiss-cpu usearch sqlite-vec apsw
    cargo build --release -p lyra-core --no-default-features --example vectors_peers
    python3 benches/vectors_peers/compare.py target/release/examples/vectors_peers [10000x768 ...]

One thread everywhere. Vectors are of length 1, in 200 clusters; queries are vectors of the same
kind. Every answer is compared with a full scan in double precision (`recall`; ties count as found).
Prints median milliseconds of `--turns` queries:

- one: one query, with everything in memory and already used
- scope: one query among one row in a hundred (faiss with a bitmap, numpy with the rows' numbers)
- insert: one row is added, then one query
- batch: 32 queries in one call, per query (Lyra has no such call: 32 single ones)

`stream` is one read of Lyra's byte copy: the minimum time of its first pass.
"""

import argparse
import json
import os
import subprocess
import tempfile
import time

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import apsw  # noqa: E402
import faiss  # noqa: E402
import numpy as np  # noqa: E402
import sqlite_vec  # noqa: E402
from usearch.index import MetricKind, search as usearch_search  # noqa: E402

K, STEP, BATCH = 10, 100, 32
faiss.omp_set_num_threads(1)


def vectors(rows, dimension, seed=42):
    noise = np.random.default_rng(seed)
    centres = noise.standard_normal((200, dimension), dtype=np.float32)
    made = np.empty((rows, dimension), dtype=np.float32)
    for start in range(0, rows, 50_000):
        some = noise.standard_normal((min(50_000, rows - start), dimension), dtype=np.float32)
        some += centres[noise.integers(0, 200, len(some))]
        made[start : start + len(some)] = some / np.linalg.norm(some, axis=1, keepdims=True)
    return made


def timed(work):
    start = time.perf_counter()
    answer = work()
    return (time.perf_counter() - start) * 1e3, answer


class Numpy:
    name = "numpy"

    def __init__(self, base):
        self.rows = len(base)
        self.data = np.concatenate([base, np.zeros((len(base) // 8, base.shape[1]), np.float32)])
        self.scope = np.arange(0, len(base), STEP)
        self.subset = np.ascontiguousarray(base[self.scope])

    @staticmethod
    def top(scores):
        best = np.argpartition(-scores, K)[:K]
        return best[np.argsort(-scores[best])]

    def one(self, query):
        return self.top(self.data[: self.rows] @ query)

    def scoped(self, query):
        return self.scope[self.top(self.subset @ query)]

    def insert(self, query, new):
        self.data[self.rows] = new
        self.rows += 1
        return self.one(query)

    def batch(self, queries):
        return [self.top(scores) for scores in queries @ self.data[: self.rows].T]


class Faiss:
    name = "faiss Flat"

    def __init__(self, base):
        self.index = faiss.IndexFlatIP(base.shape[1])
        self.index.add(base)
        bits = np.zeros((len(base) + 7) // 8, np.uint8)
        for row in range(0, len(base), STEP):
            bits[row >> 3] |= 1 << (row & 7)
        self.bits = bits
        selector = faiss.IDSelectorBitmap(len(base), faiss.swig_ptr(bits))
        self.selector = selector
        self.parameters = faiss.SearchParameters(sel=selector)

    def one(self, query):
        return self.index.search(query[None], K)[1][0]

    def scoped(self, query):
        return self.index.search(query[None], K, params=self.parameters)[1][0]

    def insert(self, query, new):
        self.index.add(new[None])
        return self.one(query)

    def batch(self, queries):
        return list(self.index.search(queries, K)[1])


class Usearch:
    name = "usearch exact"

    def __init__(self, base):
        self.base = base

    def one(self, query):
        found = usearch_search(self.base, query, K, MetricKind.IP, exact=True, threads=1)
        return found.keys

    def batch(self, queries):
        found = usearch_search(self.base, queries, K, MetricKind.IP, exact=True, threads=1)
        return list(found.keys)


class SqliteVec:
    name = "sqlite-vec"

    def __init__(self, base):
        self.db = apsw.Connection(":memory:")
        self.db.enable_load_extension(True)
        self.db.load_extension(sqlite_vec.loadable_path())
        self.db.execute(f"CREATE VIRTUAL TABLE v USING vec0(e float[{base.shape[1]}] distance_metric=cosine)")
        rows = ((i, base[i].tobytes()) for i in range(len(base)))
        self.db.executemany("INSERT INTO v(rowid, e) VALUES (?, ?)", rows)
        self.rows = len(base)
        self.scope = json.dumps(list(range(0, len(base), STEP)))

    def one(self, query):
        sql = "SELECT rowid FROM v WHERE e MATCH ? AND k = ? ORDER BY distance"
        return np.array([r[0] for r in self.db.execute(sql, (query.tobytes(), K))])

    def scoped(self, query):
        sql = (
            "SELECT rowid FROM v WHERE e MATCH ? AND k = ? AND rowid IN "
            "(SELECT value FROM json_each(?)) ORDER BY distance"
        )
        return np.array([r[0] for r in self.db.execute(sql, (query.tobytes(), K, self.scope))])

    def insert(self, query, new):
        self.db.execute("INSERT INTO v(rowid, e) VALUES (?, ?)", (self.rows, new.tobytes()))
        self.rows += 1
        return self.one(query)


class Lyra:
    """Measures its own time, so that the pipe between the two processes does not count."""

    def __init__(self, binary, file, rows, dimension, queries):
        command = [binary, file, str(rows), str(dimension), str(queries)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.loaded = self.read()["ms"]

    def read(self):
        return json.loads(self.process.stdout.readline())

    def ask(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.read()


def is_right(found, scores, size):
    """Whether each of the ten is as good as the true one at its rank."""
    best = np.sort(scores)[::-1][:K]
    return len(found) == K and bool(np.all(scores[np.asarray(found)] >= best - 1e-6)) and size >= K


def compare(binary, rows, dimension, turns, with_sqlite):
    data = vectors(rows + turns, dimension)
    base, queries = data[:rows], data[rows:]
    with tempfile.NamedTemporaryFile(dir=os.environ.get("TMPDIR")) as file:
        data.tofile(file.name)
        lyra = Lyra(binary, file.name, rows, dimension, turns)
    peers = [Numpy(base), Faiss(base), Usearch(base)] + ([SqliteVec(base)] if with_sqlite else [])
    times = {}
    wrong = {}

    def note(name, kind, ms, found=None, scores=None):
        times.setdefault((name, kind), []).append(ms)
        if found is not None and not is_right(found, scores, len(scores)):
            wrong[name] = wrong.get(name, 0) + 1

    exact = np.empty((turns, rows))
    for start in range(0, rows, 50_000):
        some = base[start : start + 50_000].astype(np.float64)
        exact[:, start : start + len(some)] = queries.astype(np.float64) @ some.T
    outside = np.ones(rows, bool)
    outside[::STEP] = False
    for turn, query in enumerate(queries):
        scores = exact[turn]
        scoped = np.where(outside, -2.0, scores)
        lyra.ask("stream")
        note("stream", "one", lyra.ask("stream")["ms"])
        for kind, line, truth in (("one", f"one {turn}", scores), ("scope", f"scope {turn} {STEP}", scoped)):
            lyra.ask(line)
            reply = lyra.ask(line)
            note("lyra", kind, reply["ms"], reply["rows"], truth)
        for peer in peers:
            peer.one(query)
            note(peer.name, "one", *timed(lambda: peer.one(query)), scores)
            if hasattr(peer, "scoped"):
                peer.scoped(query)
                note(peer.name, "scope", *timed(lambda: peer.scoped(query)), scoped)
    batch = np.ascontiguousarray(queries[:BATCH])
    for _ in range(5):
        whole = sum(lyra.ask(f"one {i}")["ms"] for i in range(BATCH))
        note("lyra", "batch", whole / BATCH)
        for peer in peers:
            if hasattr(peer, "batch"):
                note(peer.name, "batch", timed(lambda: peer.batch(batch))[0] / BATCH)
    for turn, query in enumerate(queries[:20]):
        note("lyra", "insert", lyra.ask(f"insert {turn}")["ms"])
        for peer in peers:
            if hasattr(peer, "insert"):
                note(peer.name, "insert", timed(lambda: peer.insert(query, queries[turn + 1]))[0])
    report(rows, dimension, times, wrong, [p.name for p in peers])
    lyra.process.stdin.close()
    lyra.process.wait()


def report(rows, dimension, times, wrong, peers):
    kinds = ("one", "scope", "insert", "batch")
    middle = {key: float(np.median(values)) for key, values in times.items()}
    print(f"\n{rows} x {dimension}")
    print(f"{'':<14}" + "".join(f"{kind:>11}" for kind in kinds) + f"{'wrong':>8}")
    for name in ["lyra", *peers, "stream"]:
        cells = (f"{middle[name, kind]:.3f}" if (name, kind) in middle else "–" for kind in kinds)
        print(f"{name:<14}" + "".join(f"{cell:>11}" for cell in cells) + f"{wrong.get(name, 0):>8}")
    best = {kind: min(middle[p, kind] for p in peers if (p, kind) in middle) for kind in kinds}
    print(f"{'best peer ÷ lyra':<14}" + "".join(f"{best[kind] / middle['lyra', kind]:>{9 if kind == 'one' else 11}.2f}" for kind in kinds))
    print(f"lyra ÷ stream: {middle['lyra', 'one'] / middle['stream', 'one']:.2f}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binary")
    parser.add_argument("shapes", nargs="*", default=["10000x768", "100000x384"])
    parser.add_argument("--turns", type=int, default=40)
    options = parser.parse_args()
    for shape in options.shapes:
        rows, dimension = map(int, shape.split("x"))
        compare(options.binary, rows, dimension, options.turns, rows <= 100_000)


main()
