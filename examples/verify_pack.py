#!/usr/bin/env python3
"""Checks an evidence pack without Lyra: python3 verify_pack.py evidence.zip [PUBLIC.pem]

The archive byte by byte, the Ed25519 signature, the SHA-256 of every file, every quote. Standard library
only; docs/replay.md describes the format. Exit code 0: all holds; 1: the first line says which file does not.
"""

import base64, hashlib, json, re, struct, sys, zlib

ATTESTATION, MANIFEST = "attestation.dsse.json", "manifest-sha256.txt"
TYPE = "application/vnd.in-toto+json"


class Broken(Exception): ...


def broken(file, why):
    raise Broken(f"{file}: {why}")


# Ed25519 by RFC 8032, points as extended coordinates.
P = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P


def add(a, b):
    u, v, w, z = (a[1] - a[0]) * (b[1] - b[0]), (a[1] + a[0]) * (b[1] + b[0]), 2 * a[3] * b[3] * D, 2 * a[2] * b[2]
    e, f, g, h = v - u, z - w, z + w, v + u
    return e * f % P, g * h % P, f * g % P, e * h % P


def times(n, point):
    total = (0, 1, 1, 0)
    while n:
        total = add(total, point) if n & 1 else total
        point, n = add(point, point), n >> 1
    return total


def point(octets):
    y, sign = int.from_bytes(octets, "little") & (2**255 - 1), octets[31] >> 7
    square = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(square, (P + 3) // 8, P)
    x = x if x * x % P == square else x * pow(2, (P - 1) // 4, P) % P
    if y >= P or x * x % P != square or (x == 0 and sign):
        broken(ATTESTATION, "a point is not on the curve")
    x = P - x if x & 1 != sign else x
    return x, y, 1, x * y % P


BASE = point(bytes([0x58]) + bytes([0x66]) * 31)


def holds(key, message, signature):
    s = int.from_bytes(signature[32:], "little")
    h = int.from_bytes(hashlib.sha512(signature[:32] + key + message).digest(), "little") % L
    left, right = times(s, BASE), add(point(signature[:32]), times(h, point(key)))
    return s < L and all((left[n] * right[2] - right[n] * left[2]) % P == 0 for n in (0, 1))


def read_archive(data):
    """The files of an archive that is exactly as it would be written."""
    files, at, central = {}, 0, b""
    while data[at : at + 4] == b"PK\3\4":
        crc, size, _, named = struct.unpack("<IIIH", (data[at + 14 : at + 28]).ljust(14, b"\0"))
        name = data[at + 30 : at + 30 + named].decode("latin-1")
        if named > 200 or at + size > len(data) or not re.fullmatch(r"[A-Za-z0-9_-][A-Za-z0-9._-]*(/[A-Za-z0-9_-][A-Za-z0-9._-]*)*", name):
            broken("archive", "a header is not as it was packed")
        content = data[at + 30 + named : at + 30 + named + size]
        if len(content) != size or zlib.crc32(content) != crc: broken(name, "its content is not what was packed")
        fields = struct.pack("<HHHHHIIIHH", 10, 0x800, 0, 0, 0x21, crc, size, size, named, 0)
        if data[at : at + 30] != b"PK\3\4" + fields:
            broken("archive", "a header is not as it was packed")
        if name.lower() in (known.lower() for known in files) or (files and name < max(files)):
            broken("archive", "a file appears twice or out of order")
        central += b"PK\1\2" + struct.pack("<H", 10) + fields + bytes(10) + struct.pack("<I", at) + name.encode()
        files[name], at = content, at + 30 + named + size
    end = b"PK\5\6" + struct.pack("<HHHHIIH", 0, 0, len(files), len(files), len(central), at, 0)
    if not files or data[at:] != central + end:
        broken("archive", "its list of files is not the one that was packed")
    return files


def read_seal(sealed, expected):
    try:
        envelope = json.loads(sealed)
        payload, signature = (base64.b64decode(part) for part in (envelope["payload"], envelope["signatures"][0]["sig"]))
        statement = json.loads(payload)
        key = base64.b64decode(statement["predicate"]["public_key"])
    except (ValueError, LookupError, TypeError):
        broken(ATTESTATION, "it is no envelope of a pack")
    if expected not in (None, key): broken(ATTESTATION, "it was not signed with that key")
    one = {"keyid": hashlib.sha256(key).hexdigest(), "sig": base64.b64encode(signature).decode()}
    again = {"payload": base64.b64encode(payload).decode(), "payloadType": TYPE, "signatures": [one]}
    signed = b"DSSEv1 %d %s %d %s" % (len(TYPE), TYPE.encode(), len(payload), payload)
    if len(key) != 32 or len(signature) != 64 or json.dumps(again, separators=(",", ":")).encode() + b"\n" != sealed or not holds(key, signed, signature):
        broken(ATTESTATION, "its signature is not valid")
    return statement


def check_hashes(files, statement):
    signed = {subject["name"]: subject["digest"]["sha256"] for subject in statement["subject"]}
    hashes = {name: hashlib.sha256(content).hexdigest() for name, content in files.items() if name != ATTESTATION}
    for name in sorted(signed.keys() | hashes.keys()):
        if signed.get(name) != hashes.get(name): broken(name, "it is not the file that was signed")
    listed = "".join(f"{hashes[name]}  {name}\n" for name in sorted(hashes) if name != MANIFEST)
    if files[MANIFEST].decode() != listed: broken(MANIFEST, "it does not match the files")


def check_quotes(files):
    rows = lambda name: [json.loads(line) for line in files[name].decode().split("\n")[:-1]]
    graph = rows("graph.jsonl")
    texts = {(row["page_id"], row["version"]): row["text"] for row in graph if row["type"] == "page_text"}
    passages = {row["id"]: row for row in graph if row["type"] == "fragment"}
    for row in rows("texts.jsonl"):
        text = texts.get((row["page_id"], row["version"]))
        if row["included"] != (text is not None) or (text is not None and hashlib.sha256(text.encode()).hexdigest() != row["sha256"]):
            broken("texts.jsonl", f"the text of {row['page_id']} is not the one that graph.jsonl has")
    quotes = rows("quotes.jsonl")
    for row in quotes:
        text, passage = texts.get((row["page_id"], row["version"])), passages[row["fragment_id"]]
        first = passage.get("char_start", 0)
        inside = passage["text_content"][row["start"] - first : row["end"] - first]
        if inside != row["quote"] or (text is not None and text[row["start"] : row["end"]] != row["quote"]):
            broken("quotes.jsonl", f"the quote of {row['edge_id']} is not at the stated offsets")
    if {row["id"] for row in graph if row["type"] == "edge" and row["source_type"] == "fragment"} != {row["edge_id"] for row in quotes}:
        broken("quotes.jsonl", "a quote is missing")
    return len(quotes)


def main(pack, pem=None):
    expected = base64.b64decode("".join(open(pem).read().split("-----")[2].split()))[-32:] if pem else None
    try:
        files = read_archive(open(pack, "rb").read())
        for name in (ATTESTATION, MANIFEST, "ro-crate-metadata.json", "graph.jsonl", "texts.jsonl", "quotes.jsonl"):
            if name not in files: broken(name, "it is not in the pack")
        statement = read_seal(files[ATTESTATION], expected)
        check_hashes(files, statement)
        quotes = check_quotes(files)
    except Broken as reason:
        print(reason)
        return 1
    key = hashlib.sha256(base64.b64decode(statement["predicate"]["public_key"])).hexdigest()
    print(f"all holds: {len(files)} files, {quotes} quotes, signed by key {key}")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
