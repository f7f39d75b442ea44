#!/usr/bin/env python3
"""A server with a folder of hostile documents: its memory, response times and shutdown.

    python3 benches/hostile_directory.py target/release/lyra-mcp [DOCUMENTS]

DOCUMENTS files (400 by default) of eighteen kinds are made, each kind in growing sizes: PDFs that invoke
themselves, nest, unpack or map without end; pages of tags without text; XML, Markdown and records made to be
slow; texts of one character. The files are queued one by one, and a second task searches the folder.
Meanwhile `SELECT 1` is called continuously. Measured: the peak memory of the server and of its largest child
(Linux), the longest time for one document, the worst and the median response time, and the time from SIGTERM
to the end while documents are being read.
"""

import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import zlib
from pathlib import Path
from queue import Queue
from typing import Any

DOCUMENTS = int(sys.argv[2]) if len(sys.argv) > 2 else 400
PATIENCE = 900


def pdf(objects: list[bytes]) -> bytes:
    out, places = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % place for place in places)
    return out + b"trailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % (len(objects) + 1, start)


def stream(content: bytes, entries: bytes = b"") -> bytes:
    packed = zlib.compress(content, 9)
    return b"<<%s/Filter/FlateDecode/Length %d>>stream\n%s\nendstream" % (entries, len(packed), packed)


def page(content: bytes, resources: bytes = b"", *more: bytes) -> bytes:
    head = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Count 1/Kids[3 0 R]>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 4 0 R/Resources<<%s>>>>" % resources,
    ]
    return pdf([*head, stream(content), *more])


FONT = b"/Font<</F 5 0 R>>"
FORM = b"/XObject<</X 5 0 R>>"
SELF = b"/Type/XObject/Subtype/Form/BBox[0 0 9 9]/Resources<</XObject<</X 5 0 R>>>>"


def wide_map(n: int) -> bytes:
    ranges = b"".join(b"<%08x> <%08x> <0041>\n" % (i << 20, (i + 1 << 20) - 1) for i in range(n))
    return stream(b"begincmap\n%d beginbfrange\n%s endbfrange\nendcmap" % (n, ranges))


def mapped(n: int) -> bytes:
    font = b"<</Type/Font/Subtype/Type0/BaseFont/A/Encoding/Identity-H/ToUnicode 6 0 R/DescendantFonts[7 0 R]>>"
    return page(b"BT /F 12 Tf <00410042> Tj ET", FONT, font, wide_map(n), b"<</Type/Font/Subtype/CIDFontType2>>")


# Each kind with its maximum size; sizes grow from a hundredth of the maximum to the maximum.
KINDS = [
    ("self.pdf", 1, lambda n: page(b"/X Do " * n, FORM, stream(b"/X Do", SELF))),
    ("q.pdf", 4_000_000, lambda n: page(b"q " * n)),
    ("lines.pdf", 3_000_000, lambda n: page(b"1 2 m 3 4 l " * n)),
    ("map.pdf", 200, mapped),
    ("text.pdf", 400_000, lambda n: page(b"BT /F 12 Tf (Drug X) Tj 0 1 Td ET " * n, FONT, b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>")),
    ("pages.pdf", 3_000, lambda n: pdf([b"<</Type/Catalog/Pages 2 0 R>>", b"<</Type/Pages/Count %d/Kids[%s]>>" % (n, b"2 0 R " * n)])),
    ("font.html", 200_000, lambda n: b"<body>" + b"<font>" * n + b"<p>" * n),
    ("div.html", 400_000, lambda n: b"<body>" + b"<div>" * n + b"Drug X raised the risk of falls."),
    ("p.html", 900_000, lambda n: b"<body><article>" + b"<p>aaaa</p>" * n),
    ("table.html", 200_000, lambda n: b"<body><table>" + b"<tr><td>a<table>" * n),
    ("attributes.html", 300_000, lambda n: b"<body><p " + b" ".join(b"a%d=b" % i for i in range(n)) + b">text"),
    ("dots.txt", 1_000_000, lambda n: b"." * n + b" Drug X raised the risk of falls."),
    ("quotes.md", 1_000_000, lambda n: b">" * n + b" text"),
    ("brackets.md", 300_000, lambda n: b"[" * n + b"](" * n),
    ("stars.md", 500_000, lambda n: b"*a_" * n),
    ("nested.xml", 200_000, lambda n: b"<article><body>" + b"<sec>" * n + b"<p>text</p>"),
    ("entities.xml", 30, lambda n: b"<!DOCTYPE a [<!ENTITY a0 'aaaa'>" + b"".join(b"<!ENTITY a%d '&a%d;&a%d;'>" % (i + 1, i, i) for i in range(n)) + b"]><article><body><p>&a%d;</p></body></article>" % n),
    ("record.jsonl", 4_000_000, lambda n: json.dumps({"title": "T", "text": "a" * n}).encode()),
]


def write_documents(folder: Path) -> list[str]:
    folder.mkdir()
    targets = []
    for number in range(DOCUMENTS):
        name, most, make = KINDS[number % len(KINDS)]
        step = number // len(KINDS) + 1
        steps = -(-DOCUMENTS // len(KINDS))
        path = folder / f"{number:03}-{name}"
        path.write_bytes(make(max(1, most * step // steps)))
        targets.append(path.as_uri() + ("#1" if name.endswith("jsonl") else ""))
    return targets


class Server:
    def __init__(self, folder: Path) -> None:
        self.process = subprocess.Popen(
            [sys.argv[1], "--db", folder / "g.db", "--corpus", folder / "corpus"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )
        self.waiting: dict[int, Queue[dict[str, Any]]] = {}
        self.last_id, self.lock = 0, threading.Lock()
        threading.Thread(target=self.read, daemon=True).start()
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
        self.request("initialize", hello)
        self.say({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            message = json.loads(line)
            if message.get("id") in self.waiting:
                self.waiting.pop(message["id"]).put(message)

    def say(self, message: dict[str, Any]) -> None:
        assert self.process.stdin
        with self.lock:
            self.process.stdin.write(json.dumps(message) + "\n")
            self.process.stdin.flush()

    def request(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        with self.lock:
            self.last_id += 1
            number = self.last_id
            answer: Queue[dict[str, Any]] = Queue()
            self.waiting[number] = answer
        self.say({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        return answer.get(timeout=PATIENCE)["result"]

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        result = self.request("tools/call", {"name": tool, "arguments": arguments})
        if result["isError"]:
            raise RuntimeError(result["structuredContent"])
        return result["structuredContent"]


def peak(pid: int) -> int:
    """The peak memory of a process, in MB."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) // 1024 for line in lines if line.startswith("VmHWM")), 0)


def children(pid: int) -> list[int]:
    try:
        return [int(n) for t in Path(f"/proc/{pid}/task").iterdir() for n in (t / "children").read_text().split()]
    except OSError:
        return []


def watch(server: Server, seen: dict[str, Any], stop: threading.Event) -> None:
    while not stop.is_set():
        seen["server"] = max(seen["server"], peak(server.process.pid))
        seen["child"] = max([seen["child"], *(peak(child) for child in children(server.process.pid))])
        begun = time.perf_counter()
        server.call("query_sql", sql="SELECT 1")
        seen["answers"].append(time.perf_counter() - begun)
        time.sleep(0.02)


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        targets = write_documents(folder / "corpus")
        server = Server(folder)
        seen: dict[str, Any] = {"server": 0, "child": 0, "answers": []}
        stop = threading.Event()
        watcher = threading.Thread(target=watch, args=(server, seen, stop))
        watcher.start()
        begun = time.perf_counter()
        task = server.call("create_task", hypothesis="Drug X raises the risk of falls")["task_id"]
        for at in range(0, len(targets), 50):
            server.call("queue_targets", task_id=task, targets=[{"kind": "url", "url": t} for t in targets[at : at + 50]])
        while time.perf_counter() - begun < PATIENCE:
            status = server.call("get_status", task_id=task, wait=20)
            if status["milestones"]["nli_verification_done"] and status["milestones"]["target_queue_drained"]:
                break
        seconds = time.perf_counter() - begun
        jobs = status["progress"]["jobs_by_phase"]["exploration"]
        log = folder / "g.db"
        rows = subprocess.run(
            ["python3", "-c", LONGEST, str(log)], capture_output=True, text=True, check=False
        ).stdout.strip()
        print(f"{len(targets)} documents in {seconds:.0f} s: {jobs['completed']} jobs completed, {jobs['failed']} failed")
        print(f"longest job {rows} s")
        if len(sys.argv) > 3:
            shutil.copy(log, sys.argv[3])
        again = server.call("create_task", hypothesis="Drug X lowers the risk of falls")["task_id"]
        server.call("queue_targets", task_id=again, targets=["Drug X falls"])
        time.sleep(2)
        stop.set()
        watcher.join()
        begun = time.perf_counter()
        os.kill(server.process.pid, signal.SIGTERM)
        server.process.wait(PATIENCE)
        ended = time.perf_counter() - begun
        answers = seen["answers"]
        print(f"peak memory: server {seen['server']} MB, largest child {seen['child']} MB")
        print(
            f"SELECT 1, {len(answers)} times: median {statistics.median(answers) * 1000:.1f} ms, "
            f"worst {max(answers) * 1000:.0f} ms; above 200 ms: {sum(a > 0.2 for a in answers)}"
        )
        print(f"SIGTERM to end: {ended:.1f} s")


LONGEST = """
import sqlite3, sys
db = sqlite3.connect("file:" + sys.argv[1] + "?mode=ro", uri=True)
row = db.execute("SELECT max(julianday(finished_at) - julianday(started_at)) * 86400 FROM jobs WHERE kind = 'target_queue'").fetchone()
print(round(row[0] or 0, 1))
"""

if __name__ == "__main__":
    main()
