"""Verifies a receipt of Assay, and that it is in the transparency log, without Assay: RFC 7515, 8785 and 9162, and C2SP tlog-proof.

    python3 verify.py response.json jwks.json [receipt.tlog-proof LOG-KEY]
"""
import base64
import hashlib
import json
import sys

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey


def check(holds, problem):
    if not holds:
        sys.exit(f"NOT valid: {problem}")


def decoded(part):
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))


def signed_by(key, signature, message):
    try:
        return Ed25519PublicKey.from_public_bytes(key).verify(signature, message) is None
    except (InvalidSignature, ValueError):
        return False


def receipt_of(jws, jwks):
    """Returns the receipt and its bytes, if a key of the issuer has signed it while the key was in use."""
    header, payload, signature = jws.split(".")
    head, receipt = json.loads(decoded(header)), json.loads(decoded(payload))
    check(head.get("alg") == "Ed25519" and head.get("typ") == "assay-receipt+jws" and len(head) == 3, "the header")
    key = next((key for key in jwks["keys"] if key["kid"] == head["kid"]), None)
    check(key is not None, "no key of the JWKS has this kid")
    check(signed_by(decoded(key["x"]), decoded(signature), f"{header}.{payload}".encode()), "the signature")
    check(key["iat"] <= receipt["issuedAt"] <= key.get("exp", receipt["issuedAt"]), "the key was not in use")
    # Members that are given twice, or in another order, could mean two things. Receipts have no floats and only ASCII names.
    text = json.dumps(receipt, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    check(text.encode() == decoded(payload), "the payload is not canonical")
    return receipt, text.encode()


def root_of(leaf, index, size, path):
    """Returns the root that a path leads to (RFC 9162, section 2.1.3). Its last hash is that of the other half of the tree."""
    if size <= 1 or not path:
        check(size == 1 and index == 0 and not path, "the proof does not fit the size of the log")
        return leaf
    half = 1 << (size - 1).bit_length() - 1
    if index < half:
        return hashlib.sha256(b"\x01" + root_of(leaf, index, half, path[:-1]) + path[-1]).digest()
    return hashlib.sha256(b"\x01" + path[-1] + root_of(leaf, index - half, size - half, path[:-1])).digest()


def check_log(proof, entry, log_key):
    """Checks that the log has signed a checkpoint, and that the entry is below its root."""
    name, key_id, key = log_key.split("+", 2)
    head, checkpoint = proof.split("\n\n", 1)
    signed, signatures = checkpoint.rsplit("\n\n", 1)
    origin, size, root = signed.split("\n")[:3]
    entry_line, *path = [line for line in head.split("\n")[1:] if not line.startswith("extra ")]
    own = [base64.b64decode(line.split(" ")[2]) for line in signatures.splitlines() if line.split(" ")[1] == name]
    is_own = [one[:4].hex() == key_id and signed_by(base64.b64decode(key)[1:], one[4:], f"{signed}\n".encode()) for one in own]
    check(origin == name and any(is_own), "the checkpoint is not signed by the log")
    leaf = hashlib.sha256(b"\x00" + hashlib.sha256(entry).digest()).digest()
    index = int(entry_line.split(" ")[1])
    found = root_of(leaf, index, int(size), [base64.b64decode(line) for line in path])
    check(found == base64.b64decode(root), "the receipt is not in the log")
    return f"entry {index} of {size} in {origin}"


if __name__ == "__main__":
    data = json.load(open(sys.argv[1], encoding="utf-8"))
    data = data.get("data", data)
    receipt, entry = receipt_of((data.get("receipt") or data)["jws"], json.load(open(sys.argv[2], encoding="utf-8")))
    for field in ("kind", "id", "subject", "verdict", "score", "sanctioned", "asOf", "narrowed", "issuedAt", "expiresAt", "issuer"):
        print(f"{field}: {json.dumps(receipt[field])}")
    if len(sys.argv) == 5:
        print(check_log(open(sys.argv[3], encoding="utf-8").read(), entry, sys.argv[4]))
    print("valid")
