"""Calls every operation on a running server, and prints which ones succeeded. test/sdk/python.test.ts runs it."""

import base64
import hashlib
import hmac
import io
import json
import os
import pathlib
import struct
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler
from socketserver import ThreadingTCPServer

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import assay  # noqa: E402
from assay import Assay  # noqa: E402

LAZARUS = "0x098B716B8Aaf21512996dC57EB0615e2383E2f96"
BINANCE = "0xbe0eb53f46cd790cd13851d5eff43d12404d33e8"
UNKNOWN = "0x0000000000000000000000000000000000c0ffee"
PASSWORD = "correct horse battery"
MAILS = pathlib.Path(os.environ["ASSAY_TEST_MAILS"])

called = set()
succeeded = set()


def recorded(client):
    send = client._send

    def record(operation, *args, **kwargs):
        called.add(operation.id)
        found = send(operation, *args, **kwargs)
        succeeded.add(operation.id)
        return found

    client._send = record
    return client


def refused(kind, call, *args, **kwargs):
    try:
        call(*args, **kwargs)
    except kind as error:
        return error
    raise AssertionError(f"{kind.__name__} was expected")


def until(probe, seconds=60.0):
    end = time.monotonic() + seconds
    while True:
        value = probe()
        if value:
            return value
        assert time.monotonic() < end, "nothing happened"
        time.sleep(0.05)


def token(position):
    """The token of an email, which the test writes to a file when the email arrives."""
    path = MAILS / str(position)
    return until(lambda: path.exists() and path.read_text().strip())


def check_reads(client):
    assert client.service.health().status == "ok"
    assert client.service.ready(for_="writes").ready is True
    assert "assay_http_requests_total" in client.service.metrics()
    assert client.service.openapi()["openapi"].startswith("3.1")
    assert "<html" in client.service.docs()

    found = client.entity.get(LAZARUS, chain="ETH")
    assert found.sanctioned and found.labels[0].name, found
    assert found.response.rate_limit.remaining < found.response.rate_limit.limit
    assert found.response.request_id
    listed = client.labels.list("ETH", LAZARUS)
    tag = listed.response.headers["etag"]
    refused(assay.NotModified, client.labels.list, "ETH", LAZARUS, if_none_match=tag)
    derived = client.labels.attribution("ETH", LAZARUS)
    assert (derived.findings, derived.judged_at) == ([], None), "no rule ran here"
    filed = client.labels.report("ETH", BINANCE, reason="Our own wallet.", source="seed")
    assert filed.is_new and filed.report.state == "OPEN", filed
    assert not client.labels.report("ETH", BINANCE, reason="Again.", source="seed").is_new
    assert [one.id for one in client.labels.list_reports(limit=5)] == [filed.report.id]
    refused(assay.NotFoundError, client.labels.report, "ETH", BINANCE, reason="No such label.", source="deposits")
    assert client.labels.screen(address=BINANCE, chain="ETH").labels
    bulk = client.labels.screen_bulk(addresses=[BINANCE, {"address": "wrong", "chain": "BTC"}], chain="ETH", verdict=True)
    assert isinstance(bulk.results[0], assay.BulkItem) and bulk.results[0].verdict in ("safe", "warning")
    assert isinstance(bulk.results[1], assay.BulkError)
    checked = client.sanctions.check(address=LAZARUS, chain="eth")
    assert checked.sanctioned and checked.lists[0].list == "OFAC_SDN"
    assert client.oracle.check("ETH", LAZARUS).verdict == "danger"
    proof = client.oracle.proof("ETH", LAZARUS)
    assert proof.sanctioned and proof.root == client.oracle.root("ETH").root
    assert client.exchanges.status(name="Kraken").exchange


def check_errors(client, url):
    error = refused(assay.InvalidAddressError, client.oracle.check, "ETH", "nonsense")
    assert (error.status, error.code, error.field) == (400, "INVALID_ADDRESS", "address"), error.body
    assert error.request_id and error.rate_limit.limit > 0
    refused(assay.UnknownChainError, client.oracle.check, "EHT", LAZARUS)
    refused(assay.AuthenticationError, Assay("assay_live_wrong", base_url=url).usage.get)
    ignored = client.labels.screen(address=BINANCE, chain="ETH").response.ignored
    assert ignored == []


def check_charged(client):
    before = client.usage.get().data.balance
    screened = client.screening.create(address=BINANCE, chain="ETH", jurisdiction="CH", sections=["entity"])
    assert screened.entity.category == "EXCHANGE"
    assert screened.response.credits_remaining == before - 1
    key = {"idempotency_key": f"once-{time.time()}"}
    first = client.kyt.check(chain="ETH", from_=BINANCE, to=LAZARUS, **key)
    again = client.kyt.check(chain="ETH", from_=BINANCE, to=LAZARUS, **key)
    assert first.decision == "BLOCK" and again == first
    assert (first.response.replayed, again.response.replayed) == (False, True)
    saved = [client.screening.create(address=BINANCE, chain="ETH", save=True).screening_id for _ in range(2)]
    assert [one.id for one in client.saved_screenings.list(address=BINANCE, chain="ETH", limit=1)] == saved[::-1]
    assert client.saved_screenings.get(saved[0]).screening.risk_level == screened.risk_level
    signed = client.names.screen(names=[{"name": "Zebulon Quillfeather"}], receipt="jws").receipt
    assert client.receipts.get(signed.id).jws == signed.jws
    assert client.receipts.jwks().keys[-1].kty == "OKP"
    batch = client.oracle.check("ETH", BINANCE, receipt="batch").batch

    def proved():
        try:
            return client.receipts.line(batch.id, batch.line)
        except assay.NotFoundError:
            return None

    proof = until(proved)
    assert proof.receipt.jws.count(".") == 2 and proof.line == batch.line < proof.count
    compared = client.saved_screenings.compare(saved[0], saved[1])
    assert compared.score.difference == 0 and compared.after.id == saved[1]
    assert client.receipts.proof("receipt-1").startswith("c2sp.org/tlog-proof@v1\nindex 1\n")
    traced = client.trace.create(address=BINANCE, chain="ETH", direction="out")
    assert traced.address and isinstance(traced.edges, list)
    found = client.transactions.get("0x" + "ab" * 32, chain="ETH")
    assert found.searched + [one.chain for one in found.not_searched] == ["ETH"]
    page = client.usage.get(limit=1)
    entries = list(page)
    assert len(page.items) == 1 and len(entries) >= 3 and len({entry.id for entry in entries}) == len(entries)
    assert page.data.balance == traced.response.credits_remaining <= before - 4


def check_names(client):
    screened = client.names.screen(names=[assay.NamesBodyName(name="Zebulon Quillfeather"), {"name": "Nobody At All"}])
    match = screened.results[0].top_matches[0]
    assert match.list_type == "sanctions" and screened.credits_used == 2
    known = dict(name="Zebulon Quillfeather", source=match.source, entity_id=match.entity_id)
    cleared = client.names.clear(**known, note="another person").cleared
    assert [one.id for one in client.names.list_cleared(limit=1)] == [cleared.id]
    again = client.names.screen(names=[{"name": "Zebulon Quillfeather"}])
    assert again.results[0].top_matches[0].cleared is True
    assert client.names.unclear(cleared.id).cleared.id == cleared.id
    refused(assay.NotFoundError, client.names.unclear, cleared.id)


class Receiver:
    """A receiver of webhooks."""

    def __enter__(self):
        received = self.received = []

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                received.append((body, dict(self.headers.items())))
                self.send_response(204)
                self.end_headers()

            def log_message(self, *args):
                pass

        self.http = ThreadingTCPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}/hook"
        threading.Thread(target=self.http.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_):
        self.http.shutdown()
        self.http.server_close()


def check_monitoring(client):
    with Receiver() as receiver:
        secret = client.webhooks.rotate_secret().secret
        wallet = client.wallets.create(
            wallet_address=UNKNOWN, chain="ETH", label="Desk", custom_webhook_url=receiver.url
        ).wallet
        second = client.wallets.create(wallet_address=BINANCE, chain="ETH").wallet
        assert [one.id for one in client.wallets.list(limit=1)] == [wallet.id, second.id]
        stream = client.alerts.stream(last_event_id="0")
        event = next(stream)
        stream.close()
        assert event.event == "wallet.created" and event.wallet.id == wallet.id

        assert client.wallets.get(wallet.id).wallet.label == "Desk"
        assert client.wallets.update(wallet.id, label=None, notes="n").wallet.label is None
        assert list(client.wallets.alerts(wallet.id)) == []
        assert list(client.wallets.transactions(wallet.id)) == []
        sent = client.wallets.test(wallet.id).deliveries
        body, headers = until(lambda: receiver.received)[0]
        event = client.webhooks.unwrap(body, headers, secret)
        assert event.type == "alert.test" and event.id == sent[0].id, event
        refused(assay.WebhookVerificationError, client.webhooks.unwrap, body + b" ", headers, secret)

        done = until(lambda: [one for one in client.deliveries.list(status="DELIVERED", limit=1)])
        client.deliveries.replay(done[0].id)
        assert until(lambda: receiver.received[1:])[0][1]["webhook-id"] == sent[0].id
        assert client.wallets.remove(second.id).wallet.status == "DELETED"
    assert client.channels.set(email="alerts@example.org").channels.email == "alerts@example.org"
    assert client.channels.get().channels.email == "alerts@example.org"
    assert client.channels.set(email=None).channels.email is None
    assert list(client.alerts.list(wallet_id=wallet.id, severity="HIGH")) == []
    # An alert needs a chain: the test of broken streams has some.
    refused(assay.NotFoundError, client.alerts.set_status, "00000000000000000000000000", status="RESOLVED")


def check_jobs(client):
    file = io.BytesIO(f"address\n{BINANCE}\nnonsense\n".encode())
    file.name = "addresses.csv"
    job = client.jobs.create(file, kind="labels", chain="ETH", idempotency_key="job-1").job
    assert job.format == "csv"
    file.seek(0)
    assert client.jobs.create(file, kind="labels", chain="ETH", idempotency_key="job-1").job.id == job.id
    assert client.bulk.wait(job.id).state == "DONE"
    assert client.jobs.get(job.id).job.failed == 1
    rows = list(client.jobs.result(job.id))
    assert rows[0]["labels"] and rows[1]["line"] == 3, rows
    assert [one.id for one in client.jobs.list()] == [job.id]
    client.jobs.cancel(job.id)
    parts = (f'"{address}"\n'.encode() for address in (BINANCE, LAZARUS))
    other = client.jobs.create(parts, kind="sanctions", chain="ETH").job
    client.bulk.wait(other.id)
    assert [row["sanctioned"] for row in client.jobs.result(other.id)] == [False, True]
    bound = client.jobs.create(f"{LAZARUS}\n".encode(), kind="sanctions", chain="ETH", receipt="jws").job
    client.bulk.wait(bound.id)
    job, line = client.jobs.get(bound.id).job, client.jobs.line(bound.id, 0)
    assert line.receipt.id == job.receipt.id and job.receipt.lines.count == 1, line
    receipt = {"lines": {"count": job.receipt.lines.count, "root": job.receipt.lines.root}}
    assay.verify_line(receipt, line.line, line.salt, line.path, line.text)
    refused(assay.ReceiptError, assay.verify_line, receipt, 1, line.salt, line.path, line.text)


def check_cases(client):
    case = client.cases.create(title="Large deposit", note="first note").case
    other = client.cases.create(title="Another").case
    assert [one.id for one in client.cases.list(status=["OPEN", "CLOSED"], limit=1)] == [other.id, case.id]
    assert client.cases.get(case.id).case.title == "Large deposit"
    assert client.cases.update(case.id, priority="HIGH", assignee="ann").case.priority == "HIGH"
    note = {"type": "NOTE", "note": "second note", "idempotency_key": "note-1"}
    event = client.cases.add_event(case.id, **note).event
    assert client.cases.add_event(case.id, **note).event.sequence == event.sequence
    notes = [one.note for one in client.cases.events(case.id, limit=2)]
    assert notes.count("first note") == notes.count("second note") == 1, notes

    content = b"a,b\n1,2\n"
    file = client.cases.add_file(case.id, content, name="table.csv").file
    assert (file.content_type, file.bytes) == ("text/csv", len(content)), file
    data = client.cases.add_file(case.id, io.BytesIO(b'{"a": 1}'), name="data.json").file
    assert data.content_type == "application/json"
    text = client.cases.add_file(case.id, (part for part in (b"one", b" two")), name="notes.TXT").file
    assert text.content_type == "text/plain"
    assert client.cases.file(case.id, text.id) == b"one two"
    assert client.cases.file(case.id, file.id) == content
    refused(assay.AssayError, client.cases.add_file, case.id, content, name="table")
    assert client.cases.add_file(case.id, content, name="table", content_type="text/plain").file.name == "table"
    assert len(list(client.cases.files(case.id, limit=3))) == 4
    assert client.cases.export(case.id)[:4] == b"PK\x03\x04"


def check_account(url):
    client = recorded(Assay(base_url=url + "/api/v1/"))
    client.api_key = None
    refused(assay.AssayError, client.keys.list)
    who = {"email": "bob@example.org", "password": PASSWORD}
    assert client.auth.register(**who).done
    assert client.auth.verify(token=token(1)).done
    assert client.auth.login(**who).account.email == who["email"]
    assert client.auth.session().account.email_verified is True
    other = Assay(base_url=url, session=client.session)
    assert other.auth.session().account.email == who["email"]
    made = client.keys.create(name="desk", permissions=["entity", "oracle"])
    assert [key.id for key in client.keys.list(limit=1)] == [made.key.id]
    by_key = Assay(made.api_key, base_url=url)
    assert by_key.oracle.check("ETH", LAZARUS).verdict == "danger"
    assert client.keys.toggle(made.key.id, permission="oracle", enabled=False).key.permissions == ["entity"]
    refused(assay.PermissionDeniedError, by_key.oracle.check, "ETH", LAZARUS)
    assert client.keys.revoke(made.key.id, descendants=True).key.status == "REVOKED"
    # A session of its own has a rate limit of its own.
    client.auth.login(**who)
    check_people(client, url)
    check_billing(client)
    refused(assay.PermissionDeniedError, client.operator.status)
    client.auth.change_password(current_password=PASSWORD, new_password="another horse battery")
    client.auth.logout()
    assert client.session is None
    refused(assay.AssayError, client.auth.session)
    client.auth.forgot_password(email=who["email"])
    client.auth.reset_password(token=token(5), password=PASSWORD)
    assert client.auth.login(**who)


def totp(secret):
    step = int(time.time()) // 30
    digest = hmac.new(base64.b32decode(secret), struct.pack(">Q", step), hashlib.sha1).digest()
    start = digest[-1] & 15
    number = int.from_bytes(digest[start : start + 4], "big") & 0x7FFFFFFF
    return f"{number % 1000000:06d}"


def check_people(client, url):
    client.auth.resend_confirmation(email="nobody@example.org")
    own = client.auth.session()
    assert [one.current for one in client.auth.sessions()] == [True, False]
    assert client.auth.end_other_sessions().ended == 1
    refused(assay.PermissionDeniedError, client.people.create, email="x@example.org", role="owner", password=PASSWORD)
    invited = client.people.invite(email="cid@example.org", role="analyst").person
    assert client.people.update(invited.id, role="auditor").person.role == "auditor"
    cid = recorded(Assay(base_url=url))
    cid.api_key = None
    joined = cid.auth.accept_invitation(token=token(2), password=PASSWORD)
    assert (joined.person.role, joined.account.id) == ("auditor", own.account.id)
    assert [one.role for one in client.people.list(limit=1)] == ["owner", "auditor"]
    secret = cid.auth.enrol_totp(password=PASSWORD).secret
    codes = cid.auth.confirm_totp(code=totp(secret)).recovery_codes
    codes = cid.auth.renew_recovery_codes(password=PASSWORD, code=codes[0]).recovery_codes
    error = refused(assay.AuthenticationError, cid.auth.login, email="cid@example.org", password=PASSWORD)
    assert error.code == "SECOND_FACTOR_REQUIRED"
    cid.auth.disable_totp(password=PASSWORD, code=codes[0])
    cid.auth.confirm_totp(code=totp(cid.auth.enrol_totp(password=PASSWORD).secret))
    client.people.disable_totp(joined.person.id, current_password=PASSWORD)
    cid.auth.end_session(cid.auth.session().id)
    refused(assay.AuthenticationError, cid.auth.session)
    assert {one.action for one in client.people.audit(limit=50)} >= {"person.role", "totp.enable"}
    assert client.people.end_sessions(joined.person.id).ended == 0
    assert client.people.remove(joined.person.id).person.email == "cid@example.org"


def check_billing(client):
    offer = client.billing.packages()
    assert offer.checkout == "available" and offer.packages[1].price.amount == 19900
    ordered = client.billing.checkout(package="Starter", pool="dashboard")
    assert ordered.url.startswith("https://checkout.stripe.test/")
    assert [one.id for one in client.billing.list(limit=1)] == [ordered.invoice_id]
    assert client.billing.get(ordered.invoice_id).invoice.state == "NEW"
    refused(assay.NotFoundError, client.billing.receipt, ordered.invoice_id)
    assert [(one.method, one.currencies) for one in offer.methods] == [("WIRE", ["USD"])]
    invoice = client.billing.order(package="Starter", method="WIRE").invoice
    assert invoice.state == "NEW" and invoice.wire.reference.startswith("RF") and invoice.due.amount == "19900"
    assert "Pro-forma invoice" in client.billing.pro_forma(invoice.id)
    # Paid by wire, and this operator pays no gas: test/e2e/gasless.test.ts pays through the client.
    payer = "0x" + "28" * 20
    authorization = {"from": payer, "to": payer, "value": "1", "validAfter": "0", "validBefore": "1", "nonce": "0x" + "ab" * 32}
    refused(assay.InvalidRequestError, client.billing.typed_data, invoice.id, payer=payer)
    signature = "0x" + "1b" * 65
    refused(assay.InvalidRequestError, client.billing.authorize, invoice.id, authorization=authorization, signature=signature)
    refused(assay.InvalidRequestError, client.billing.authorizations, invoice.id)
    assert client.billing.settings().settings.top_up == []
    changed = client.billing.change_settings(low_balance={"api": 5, "dashboard": None}).settings
    assert changed.low_balance.api == 5 and changed.webhook_url is None
    assert "OPENING" in client.billing.statement(invoice.created_at[:7])
    stream = client.billing.stream(last_event_id="0")
    kinds = [next(stream), next(stream)]
    stream.close()
    assert [event.event for event in kinds] == ["invoice.created", "invoice.created"]
    assert kinds[1].invoice.id == invoice.id


def check_operator(url):
    """Of a person of an operator account; nobody else may read the state of the installation."""
    operator = recorded(Assay(base_url=url, session=os.environ["ASSAY_TEST_OPERATOR_SESSION"]))
    operator.api_key = None
    assert [node.here for node in operator.operator.status().nodes] == [True]
    assert [run.kind for run in operator.operator.imports().runs] == ["IMPORT"]
    reports = list(operator.operator.label_reports(state="OPEN"))
    assert all(one.account_id for one in reports)
    decided = operator.operator.decide_label_report(reports[0].id, state="REJECTED", reason="it is right")
    assert decided.report.state == "REJECTED" and decided.dispute is None


def main():
    url = os.environ["ASSAY_BASE_URL"]
    with recorded(Assay()) as client:
        check_reads(client)
        check_errors(client, url)
        check_charged(client)
        check_names(client)
        check_monitoring(client)
        check_jobs(client)
    with recorded(Assay(os.environ["ASSAY_TEST_CASES_KEY"])) as client:
        check_cases(client)
    check_account(url)
    check_operator(url)
    print(json.dumps({"called": sorted(called), "succeeded": sorted(succeeded)}))


if __name__ == "__main__":
    main()
