"""Verifies a receipt of Assay and the answer beside it, without Assay: RFC 7515 and 8785. With a proof, also its place in the log.

    python3 verify.py response.json jwks.json [receipt.tlog-proof LOG-KEY]"""
import base64
import decimal
import hashlib
import json
import sys
from tlog import check, is_signed, place_of


def decoded(part):
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))


def parsed(text):
    """Refuses what two readers could understand differently: a member that is given twice, and a number that is not JSON."""
    members = lambda pairs: check(len(dict(pairs)) == len(pairs), "a member is given twice") and dict(pairs)
    return json.loads(text, object_pairs_hook=members, parse_constant=lambda name: check(False, f"{name} is no number"))


def canonical(value):
    """Returns the text that is signed or hashed (RFC 8785): sorted names, and numbers as ECMAScript writes them."""
    if isinstance(value, dict):
        names = sorted(value, key=lambda name: name.encode("utf-16-be"))
        return "{" + ",".join(f"{canonical(name)}:{canonical(value[name])}" for name in names) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(canonical, value)) + "]"
    if type(value) not in (int, float):
        return json.dumps(value, ensure_ascii=False)
    exact = decimal.Decimal(repr(float(value))).normalize()
    return format(exact, "f" if -7 < exact.adjusted() < 21 else "e") if value else "0"


def receipt_of(jws, jwks):
    """Returns the receipt, if a key of the issuer has signed it while the key was in use."""
    header, payload, signature = jws.split(".")
    head, receipt = parsed(decoded(header)), parsed(decoded(payload))
    key = next((key for key in jwks["keys"] if key.get("kid") == head["kid"]), None)
    check(head == {"alg": "Ed25519", "kid": head["kid"], "typ": "assay-receipt+jws"}, "the header")
    check(key and key["crv"] == "Ed25519", "no key of the JWKS has this kid")
    check(is_signed(decoded(key["x"]), decoded(signature), f"{header}.{payload}".encode()), "the signature")
    check(key["iat"] <= receipt["issuedAt"] <= key.get("exp", receipt["issuedAt"]), "the key was not in use")
    check(canonical(receipt).encode() == decoded(payload), "the payload is not canonical")
    return receipt


if __name__ == "__main__":
    whole, jwks = (parsed(open(path, encoding="utf-8").read()) for path in sys.argv[1:3])
    data = whole.get("data", whole)
    receipt = receipt_of((data.get("receipt") or data)["jws"], jwks)
    answer = {name: data[name] for name in data if name not in ("receipt", "screeningId", "ignored")}
    if "receipt" in data and answer and receipt["lines"] is None:
        answer_sha256 = hashlib.sha256(canonical(answer).encode()).hexdigest()
        check(answer_sha256 == receipt["answerSha256"], "the answer in the file is not the one that was signed")
        print("the answer in the file is the one that was signed")
    for field in ("kind", "id", "subject", "verdict", "score", "sanctioned", "asOf", "narrowed", "issuedAt", "expiresAt", "issuer"):
        print(f"{field}: {json.dumps(receipt[field])}")
    print(place_of(canonical(receipt).encode(), *sys.argv[3:5]) if len(sys.argv) == 5 else "no proof of the log")
    print("valid")
