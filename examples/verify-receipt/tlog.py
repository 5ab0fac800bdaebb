"""Verifies that a receipt of Assay is in the transparency log (RFC 9162 and C2SP tlog-proof). verify.py uses it."""
import base64
import hashlib
import sys

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey


def check(holds, problem):
    return True if holds else sys.exit(f"NOT valid: {problem}")


# A file that cannot be read is not valid either.
sys.excepthook = lambda kind, error, _: sys.stderr.write(f"NOT valid: a file cannot be read: {kind.__name__}: {error}\n")


def is_signed(key, signature, message):
    try:
        return Ed25519PublicKey.from_public_bytes(key).verify(signature, message) is None
    except (InvalidSignature, ValueError):
        return False


def root_of(leaf, index, size, path):
    """Returns the root that a path leads to (RFC 9162, section 2.1.3). Its last hash is that of the other half of the tree."""
    if size <= 1 or not path:
        check(size == 1 and index == 0 and not path, "the proof does not fit the size of the log")
        return leaf
    half = 1 << (size - 1).bit_length() - 1
    if index < half:
        return hashlib.sha256(b"\x01" + root_of(leaf, index, half, path[:-1]) + path[-1]).digest()
    return hashlib.sha256(b"\x01" + path[-1] + root_of(leaf, index - half, size - half, path[:-1])).digest()


def place_of(receipt, proof_path, log_key):
    """Checks that the log has signed a checkpoint, and that the bytes of a receipt are below its root."""
    name, key_id, key = log_key.split("+", 2)
    head, checkpoint = open(proof_path, encoding="utf-8").read().split("\n\n", 1)
    signed, signatures = checkpoint.rsplit("\n\n", 1)
    origin, size, root = signed.split("\n")[:3]
    entry_line, *path = [line for line in head.split("\n")[1:] if not line.startswith("extra ")]
    own = [base64.b64decode(line.split(" ")[2]) for line in signatures.splitlines() if line.split(" ")[1] == name]
    is_own = [one[:4].hex() == key_id and is_signed(base64.b64decode(key)[1:], one[4:], f"{signed}\n".encode()) for one in own]
    check(origin == name and any(is_own), "the checkpoint is not signed by the log")
    # An entry of the log is the SHA-256 of a receipt, with its salt.
    leaf = hashlib.sha256(b"\x00" + hashlib.sha256(receipt).digest()).digest()
    index = int(entry_line.split(" ")[1])
    found = root_of(leaf, index, int(size), [base64.b64decode(line) for line in path])
    check(found == base64.b64decode(root), "the receipt is not in the log")
    return f"entry {index} of {size} in {origin}"
