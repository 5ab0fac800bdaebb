"""The parts of the client that need no server: `python3 -m unittest discover -s sdk/python/tests`."""

import ast
import base64
import hashlib
import hmac
import io
import json
import os
import pathlib
import signal
import sys
import threading
import time
import unittest
from http.server import BaseHTTPRequestHandler
from socketserver import ThreadingTCPServer

FOLDER = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(FOLDER))

import assay  # noqa: E402


class Server:
    """A server with prepared responses. Each is (status, headers, body), the bytes after which the connection is closed, or
    None to close it at once."""

    def __init__(self, *responses):
        self.responses = list(responses)
        self.requests = []
        self.connections = set()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self):
                length = int(self.headers.get("content-length") or 0)
                body = self.rfile.read(length)
                outer.requests.append((self.command, self.path, dict(self.headers.items()), body))
                outer.connections.add(self.client_address)
                response = outer.responses.pop(0)
                if response is None or isinstance(response, bytes):
                    self.wfile.write(response or b"")
                    self.close_connection = True
                    return
                status, headers, text = response
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = answer

            def log_message(self, *args):
                pass

        # HTTPServer would look up the name of the host.
        self.http = ThreadingTCPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        threading.Thread(target=self.http.serve_forever, args=(0.01,), daemon=True).start()
        self.waits = []
        self.clients = []

    def client(self, **options):
        client = assay.Assay("assay_live_test", base_url=f"http://127.0.0.1:{self.http.server_address[1]}", **options)
        client._sleep = self.waits.append
        self.clients.append(client)
        return client

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for client in self.clients:
            client.close()
        self.http.shutdown()
        self.http.server_close()


def ok(data, **more):
    return 200, {"Content-Type": "application/json"}, json.dumps({"success": True, "data": data, **more}).encode()


def refusal(status, code, **headers):
    return status, {"X-Error-Code": code, "X-Request-Id": "r1", **headers}, b'{"error":"name: is wrong."}'


class Retries(unittest.TestCase):
    def test_waits_grow_with_jitter_and_are_capped(self):
        longest = [assay.backoff_seconds(n, lambda: 0.0) for n in range(6)]
        shortest = [assay.backoff_seconds(n, lambda: 1.0) for n in range(6)]
        self.assertEqual(longest, [0.375, 0.75, 1.5, 3.0, 6.0, 6.0])
        self.assertEqual(shortest, [0.25, 0.5, 1.0, 2.0, 4.0, 4.0])

    def test_a_post_is_sent_again_under_the_same_key(self):
        with Server(refusal(500, "INTERNAL"), None, ok({"riskScore": 7})) as server:
            result = server.client().screening.create(address="a", chain="ETH")
            self.assertEqual(result.risk_score, 7)
            keys = {headers["Idempotency-Key"] for _, _, headers, _ in server.requests}
            self.assertEqual(len(server.requests), 3)
            self.assertEqual(len(keys), 1)
            self.assertEqual(len({body for *_, body in server.requests}), 1)

    def test_a_surrogate_without_its_pair_is_escaped(self):
        with Server(refusal(400, "INVALID_ADDRESS")) as server:
            with self.assertRaises(assay.APIError):
                server.client().screening.create(address="a\ud800\u00e9\U0001f600", chain="ETH")
            body = server.requests[0][3]
            self.assertEqual(body, '{"address":"a\\ud800é😀","chain":"ETH"}'.encode())

    def test_gives_up_after_two_more_tries(self):
        with Server(*[refusal(503, "")] * 3) as server:
            with self.assertRaises(assay.ServerError):
                server.client().usage.get()
            self.assertEqual(len(server.requests), 3)

    def test_obeys_retry_after_up_to_the_window_of_a_rate_limit(self):
        with Server(refusal(429, "RATE_LIMITED", **{"Retry-After": "61"}), ok({"keys": []})) as server:
            server.client().usage.get()
            self.assertEqual(server.waits, [61.0])
        with Server(refusal(429, "RATE_LIMITED", **{"Retry-After": "62"})) as server:
            with self.assertRaises(assay.RateLimitError) as caught:
                server.client().usage.get()
            self.assertEqual(caught.exception.retry_after, 62.0)
            self.assertEqual(server.waits, [])

    def test_errors_of_the_request_are_not_retried(self):
        for status in (400, 401, 402, 403, 404):
            with Server(refusal(status, "")) as server:
                with self.assertRaises(assay.APIError):
                    server.client().usage.get()
                self.assertEqual(len(server.requests), 1)

    def test_an_operation_that_could_take_effect_twice_is_not_sent_again(self):
        for response in (refusal(500, "INTERNAL"), None):
            with Server(response) as server:
                with self.assertRaises(assay.AssayError):
                    server.client().webhooks.rotate_secret()
                self.assertEqual(len(server.requests), 1)
        with Server(refusal(429, "OVERLOADED"), ok({"secret": "s", "previousUntil": None})) as server:
            self.assertEqual(server.client().webhooks.rotate_secret().secret, "s")

    def test_a_job_that_may_be_stopped_is_not_cancelled_again(self):
        with Server(*[refusal(502, "")] * 3) as server:
            with self.assertRaises(assay.ServerError):
                server.client().jobs.cancel("job_1")
        self.assertEqual(len(server.requests), 1)

    def test_a_change_of_a_case_is_sent_again_unless_it_has_a_version(self):
        for version, count in ((None, 3), (4, 1)):
            with Server(*[refusal(502, "")] * 3) as server:
                with self.assertRaises(assay.ServerError):
                    server.client().cases.update("cas_1", title="Deposit", version=version)
            self.assertEqual(len(server.requests), count)

    def test_max_retries_and_idempotency_key_of_a_call(self):
        with Server(refusal(500, "INTERNAL")) as server:
            with self.assertRaises(assay.ServerError):
                server.client().kyt.check(chain="ETH", from_="a", to="b", max_retries=0, idempotency_key="mine")
            (_, _, headers, body) = server.requests[0]
            self.assertEqual(headers["Idempotency-Key"], "mine")
            self.assertEqual(json.loads(body), {"chain": "ETH", "from": "a", "to": "b"})

    def test_connections_are_kept_and_replaced_when_the_server_closes_them(self):
        with Server(ok({}), ok({}), None, ok({})) as server:
            client = server.client()
            for _ in range(3):
                client.usage.get()
            self.assertEqual(len(server.connections), 2)
            self.assertEqual(server.waits, [])

    def test_a_silent_server_is_a_timeout(self):
        import socket

        silent = socket.socket()
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        client = assay.Assay("k", base_url=f"http://127.0.0.1:{silent.getsockname()[1]}", max_retries=0)
        with self.assertRaises(assay.APITimeoutError):
            client.usage.get(timeout=0.05)
        silent.close()
        with self.assertRaises(assay.APIConnectionError):
            client.usage.get()


#: Responses whose connection was closed before their end.
CUT = {
    "a length": b'HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n{"success":true,"da',
    "whole JSON": b'HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n{"success":true,"data":{"riskScore":1}}',
    "no body": b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n",
    "a chunk": b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n32\r\n{"success":true,"da',
    "between chunks": b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{"suc\r\n',
    "an error": b'HTTP/1.1 400 Bad Request\r\nContent-Length: 50\r\n\r\n{"error":"na',
}
#: Whole responses that are not from the API.
FOREIGN = {
    "half of one": (200, {}, b'{"success":true,"da'),
    "half of one without a length": b'HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{"success":true,"da',
    "nothing after half of a header": b"HTTP/1.1 200 OK\r\nContent-Le",
    "nothing": (200, {}, b""),
    "a page": (200, {}, b"<html>maintenance</html>"),
    "another encoding": (200, {}, b'{"data":"\xff"}'),
    "nested without end": (200, {}, b"[" * 200_000),
    "an array": (200, {}, b"[1]"),
    "no data": (200, {}, b'{"success":true}'),
    "data of another type": (200, {}, b'{"success":true,"data":7}'),
}


class Incomplete(unittest.TestCase):
    def test_the_request_is_sent_again_under_the_same_key(self):
        for name, response in {**CUT, **FOREIGN}.items():
            with self.subTest(name), Server(response, ok({"riskScore": 7})) as server:
                self.assertEqual(server.client().screening.create(address="a", chain="ETH").risk_score, 7)
                self.assertEqual(len(server.requests), 2)
                self.assertEqual(len({headers["Idempotency-Key"] for _, _, headers, _ in server.requests}), 1)
                self.assertEqual(len(server.waits), 1)

    def test_the_last_try_raises_an_error_of_the_client(self):
        for name, response in {**CUT, **FOREIGN}.items():
            with self.subTest(name), Server(response) as server:
                with self.assertRaises(assay.APIConnectionError) as caught:
                    server.client(max_retries=0).usage.get()
                self.assertEqual(isinstance(caught.exception, assay.APIResponseError), name in FOREIGN)
                self.assertNotIsInstance(caught.exception.__cause__, ValueError)

    def test_an_operation_that_could_take_effect_twice_is_not_sent_again(self):
        for name, response in {**CUT, **FOREIGN}.items():
            with self.subTest(name), Server(response) as server:
                with self.assertRaises(assay.APIConnectionError):
                    server.client().webhooks.rotate_secret()
                self.assertEqual(len(server.requests), 1)

    def test_texts_lines_and_events_that_cannot_be_read_are_errors_of_the_client(self):
        with Server((200, {}, b"\xff")) as server:
            with self.assertRaises(assay.APIResponseError):
                server.client(max_retries=0).service.metrics()
        for chunks in ([b'{"a":1}\n{"a"\n'], [b'{"a":1}\n{"a"'], [b"<html>"], [b'"\xff"\n'], [b"1\n"]):
            with self.subTest(chunks), self.assertRaises(assay.APIResponseError):
                list(assay._parsed_lines(chunks))
        for text in (b"data: {\n\n", b"data: 1\n\n", b"data: \xff\n\n"):
            with self.subTest(text), self.assertRaises(assay.APIResponseError):
                list(assay._stream_events(io.BytesIO(text)))


class Errors(unittest.TestCase):
    def test_every_code_has_its_class(self):
        expected = {
            (400, "INVALID_ADDRESS"): assay.InvalidAddressError,
            (400, "INVALID_JSON"): assay.InvalidRequestError,
            (401, "UNAUTHENTICATED"): assay.AuthenticationError,
            (402, "QUOTA_EXHAUSTED"): assay.QuotaExhaustedError,
            (402, "CREDITS_EXHAUSTED"): assay.CreditsExhaustedError,
            (403, "FORBIDDEN"): assay.PermissionDeniedError,
            (404, "NOT_FOUND"): assay.NotFoundError,
            (429, "RATE_LIMITED"): assay.RateLimitError,
            (500, "STORAGE_FULL"): assay.StorageFullError,
            (503, "NOT_READY"): assay.NotReadyError,
            (502, ""): assay.ServerError,
            (418, ""): assay.APIError,
        }
        for (status, code), kind in expected.items():
            with Server(refusal(status, code)) as server:
                with self.assertRaises(assay.APIError) as caught:
                    server.client(max_retries=0).usage.get()
                self.assertIs(type(caught.exception), kind)
                self.assertEqual((caught.exception.code, caught.exception.request_id), (code, "r1"))

    def test_problem_details_name_the_field_and_headers_the_limits(self):
        body = {"type": "urn:assay:error:UNKNOWN_CHAIN", "status": 400, "detail": "chain: no.", "field": "chain"}
        headers = {"X-RateLimit-Limit": "20", "X-RateLimit-Remaining": "3", "X-RateLimit-Reset": "9"}
        headers["X-Quota-Remaining"] = "unlimited"
        with Server((400, headers, json.dumps(body).encode())) as server:
            with self.assertRaises(assay.UnknownChainError) as caught:
                server.client().usage.get()
        error = caught.exception
        self.assertEqual((error.code, error.field, error.message), ("UNKNOWN_CHAIN", "chain", "chain: no."))
        self.assertEqual(error.rate_limit, assay.RateLimit(20, 3, 9))
        self.assertEqual(error.quota, "unlimited")

    def test_a_page_of_a_proxy_is_an_error(self):
        with Server((200, {}, b"<html>maintenance</html>"), (200, {}, b"[1]")) as server:
            for _ in range(2):
                with self.assertRaises(assay.APIConnectionError):
                    server.client(max_retries=0).usage.get()

    def test_missing_key_session_and_wrong_base_url_are_named(self):
        environment, os.environ["ASSAY_API_KEY"] = os.environ.get("ASSAY_API_KEY"), ""
        try:
            with self.assertRaisesRegex(assay.AssayError, "api_key"):
                assay.Assay().usage.get()
            with self.assertRaisesRegex(assay.AssayError, "session"):
                assay.Assay().keys.list()
            with self.assertRaisesRegex(assay.AssayError, "session"):
                assay.Assay(session="a; other=b")
            for url in ("ftp://host", "host", "http://user@host", "http://host/?x=1"):
                with self.assertRaisesRegex(assay.AssayError, "base_url"):
                    assay.Assay(base_url=url)
        finally:
            if environment is not None:
                os.environ["ASSAY_API_KEY"] = environment

    def test_a_key_may_have_the_line_break_of_its_file_and_is_not_quoted(self):
        self.assertEqual(assay.Assay(" assay_live_x\r\n").api_key, "assay_live_x")
        for key in ("assay_live_x\nassay_live_x", "assay_live_\u2026", "Bearer assay_live_x"):
            with self.assertRaisesRegex(assay.AssayError, "^api_key: must be the whole key(?!.*assay_live)"):
                assay.Assay(key)

    def test_arguments_that_no_request_can_hold_are_refused(self):
        for port in ("99999", "abc"):
            with self.assertRaisesRegex(assay.AssayError, "^base_url: "):
                assay.Assay("k", base_url=f"http://127.0.0.1:{port}")
        with Server(ok({"riskScore": 7})) as server:
            client = server.client()
            for key in ("", "zahlung-\u00fc", "a b", "a\nb", "x" * 256):
                with self.assertRaisesRegex(assay.AssayError, "^idempotency_key: "):
                    client.kyt.check(chain="ETH", address="a", idempotency_key=key)
            for timeout in (0, -1, float("nan")):
                with self.assertRaisesRegex(assay.AssayError, "^timeout: "):
                    client.kyt.check(chain="ETH", address="a", timeout=timeout)
                with self.assertRaisesRegex(assay.AssayError, "^timeout: "):
                    assay.Assay("k", timeout=timeout)
            self.assertEqual(server.requests, [])
            self.assertEqual(client.kyt.check(chain="ETH", address="a", timeout=float("inf")).risk_score, 7)

    def test_a_path_cannot_be_left(self):
        client = assay.Assay("k")
        for name in ("", ".", ".."):
            with self.assertRaisesRegex(assay.AssayError, "id: must not be empty"):
                client.jobs.get(name)
        self.assertTrue(client._url(assay._ONE_JOB, {"id": "a/../b?c"}, {}).endswith("/jobs/a%2F..%2Fb%3Fc"))


class Models(unittest.TestCase):
    def test_unknown_fields_are_kept_and_missing_ones_are_none(self):
        edge = assay.TraceEdge.from_json({"from": "a", "to": "b", "new": {"x": 1}})
        self.assertEqual((edge.from_, edge.to, edge.asset, edge.extra), ("a", "b", None, {"new": {"x": 1}}))
        self.assertEqual(edge.to_json()["new"], {"x": 1})
        label = assay.Label.from_json({"class": "list"})
        self.assertEqual(label.class_, "list")
        self.assertNotIn("synthetic", label.to_json())

    def test_values_of_another_type_than_documented_are_passed_on(self):
        alert = assay.Alert.from_json({"wallet": "text", "history": 5, "severity": "NEW_LEVEL"})
        self.assertEqual((alert.wallet, alert.history, alert.severity), ("text", 5, "NEW_LEVEL"))

    def test_a_union_is_read_by_its_required_fields(self):
        found = assay.BulkResult.from_json({"results": [{"address": "a", "error": "wrong"}]})
        self.assertIsInstance(found.results[0], assay.BulkError)

    def test_null_is_sent_and_a_missing_field_is_not(self):
        with Server(ok({}), ok({}), ok({})) as server:
            client = server.client()
            client.wallets.update("w1", custom_webhook_url=None)
            client.wallets.update("w1", notes="n")
            client.names.screen(names=[assay.NamesBodyName(name="Ann", birth_date="1970"), {"name": "Bob"}])
            bodies = [json.loads(body) for *_, body in server.requests]
        self.assertEqual(bodies[:2], [{"customWebhookUrl": None}, {"notes": "n"}])
        self.assertEqual(bodies[2], {"names": [{"name": "Ann", "birthDate": "1970"}, {"name": "Bob"}]})

    def test_responses_have_their_metadata(self):
        status, headers, body = ok({"riskScore": 1}, credits={"remaining": 9}, ignored=["adress"])
        with Server((status, {**headers, "Idempotency-Replayed": "true", "X-Quota-Remaining": "5"}, body)) as server:
            response = server.client().screening.create(address="a", chain="ETH").response
        self.assertEqual((response.credits_remaining, response.ignored), (9, ["adress"]))
        self.assertEqual((response.replayed, response.quota), (True, 5))

    def test_a_list_pages_by_itself(self):
        def page(ids, cursor):
            return ok({"alerts": [{"id": n} for n in ids], "hasMore": cursor is not None, "nextCursor": cursor})

        with Server(page([1, 2], "c1"), page([], "c2"), page([3], None)) as server:
            alerts = server.client().alerts.list(status="NEW", offset=0, wallet_address=["a", "b"])
            self.assertEqual([alert.id for alert in alerts], [1, 2, 3])
            paths = [path.partition("?")[2] for _, path, _, _ in server.requests]
        self.assertEqual(paths[0], "walletAddress=a%2Cb&status=NEW&offset=0")
        self.assertEqual(paths[2], "walletAddress=a%2Cb&status=NEW&cursor=c2")


class Webhooks(unittest.TestCase):
    secret = "whsec_" + base64.b64encode(b"0123456789abcdef01234567").decode()
    body = json.dumps({"type": "alert.created", "timestamp": "t", "data": {"alert": {"id": "a1"}}}).encode()

    def headers(self, secret, stamp=1000, body=None):
        key = base64.b64decode(secret[6:])
        signed = f"m1.{stamp}.".encode() + (body or self.body)
        signature = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
        return {"Webhook-Id": "m1", "webhook-timestamp": str(stamp), "WEBHOOK-SIGNATURE": f"v1,AAAA v1,{signature}"}

    def test_a_genuine_delivery_is_returned(self):
        event = assay.unwrap_webhook(self.body, self.headers(self.secret), self.secret, now=1200)
        self.assertEqual((event.id, event.type, event.alert.id), ("m1", "alert.created", "a1"))
        other = "whsec_" + base64.b64encode(b"x" * 24).decode()
        assay.unwrap_webhook(self.body, self.headers(self.secret), [other, self.secret], now=1200)

    def test_all_others_are_refused(self):
        good = self.headers(self.secret)
        other = "whsec_" + base64.b64encode(b"x" * 24).decode()
        cases = [
            (self.body + b" ", good, 1000),
            (self.body, self.headers(other), 1000),
            (self.body, good, 1301),
            (self.body, good, 699),
            (self.body, {**good, "webhook-timestamp": "soon"}, 1000),
            (self.body, {**good, "WEBHOOK-SIGNATURE": good["WEBHOOK-SIGNATURE"].replace("v1,", "v2,")}, 1000),
            (self.body, {name: value for name, value in good.items() if name != "Webhook-Id"}, 1000),
            (b"[]", self.headers(self.secret, body=b"[]"), 1000),
        ]
        for body, headers, now in cases:
            with self.assertRaises(assay.WebhookVerificationError):
                assay.unwrap_webhook(body, headers, self.secret, now=now)

    def test_a_secret_without_a_key_is_refused_because_anybody_can_sign_with_it(self):
        for secret in ("whsec_", "", [self.secret, "whsec_"]):
            with self.assertRaisesRegex(assay.AssayError, "^secret: "):
                assay.unwrap_webhook(self.body, self.headers("whsec_"), secret, now=1000)


class Streams(unittest.TestCase):
    def test_events_are_parsed_and_a_cut_one_is_dropped(self):
        text = b': ping\n\nid: 1\nevent: alert.created\ndata: {"alert":{"id":"a"}}\n\nevent: missed\r\ndata:{"from":\n'
        text += b'data: 2}\r\n\r\nid: 3\nevent: alert.updated\ndata: {"al'
        events = list(assay._stream_events(io.BytesIO(text)))
        self.assertEqual([(event.id, event.event) for event in events], [("1", "alert.created"), ("", "missed")])
        self.assertEqual((events[0].alert.id, events[1].data), ("a", {"from": 2}))

    def test_a_connection_that_breaks_before_the_first_event_may_have_missed_some(self):
        head = {"Content-Type": "text/event-stream"}
        event = b'id: 7\nevent: alert.created\ndata: {"alert":{"id":"a"}}\n\n'
        with Server((200, head, b": open\n\n"), (200, head, event), (200, head, event)) as server:
            stream = server.client().alerts.stream()
            missed, created, again = next(stream), next(stream), next(stream)
            self.assertEqual((missed.id, missed.event, missed.data), ("", "missed", {"from": None, "to": None}))
            self.assertEqual([created.event, again.event], ["alert.created"] * 2)
            sent = [headers.get("Last-Event-ID") for _, _, headers, _ in server.requests]
            self.assertEqual(sent, [None, None, "7"])
            stream.close()

    def test_a_quiet_stream_outlives_any_number_of_restarts_of_the_server(self):
        head = {"Content-Type": "text/event-stream"}
        event = b'id: 7\nevent: alert.created\ndata: {"alert":{"id":"a"}}\n\n'
        quiet = [(200, head, b": ping\n\n")] * (assay.PATIENT_RETRIES + 2)
        with Server(*quiet, (200, head, event)) as server:
            stream = server.client().alerts.stream()
            events = [next(stream).event for _ in range(len(quiet) + 1)]
            self.assertEqual(events, ["missed"] * len(quiet) + ["alert.created"])
            # Each of them is a first failure.
            self.assertLess(max(server.waits), 2 * assay.BACKOFF_SECONDS_MIN)
            stream.close()

    def test_a_stream_that_ends_at_once_each_time_is_an_error(self):
        head = {"Content-Type": "text/event-stream"}
        with Server(*[(200, head, b"")] * (assay.PATIENT_RETRIES + 1)) as server:
            with self.assertRaisesRegex(assay.APIConnectionError, "ends the stream"):
                list(server.client().alerts.stream())

    def test_lines_are_parsed_across_chunks(self):
        chunks = [b'{"a":1}\n{"a"', b":", b"2}\n\n", b'{"a":3}']
        self.assertEqual([row["a"] for row in assay._parsed_lines(chunks)], [1, 2, 3])

    def test_batches_end_at_lines_and_bytes(self):
        self.assertEqual([count for _, count in assay._batches(iter("abcde"), 2)], [2, 2, 1])
        big = ["x" * (assay.BATCH_BYTES_MAX // 2)] * 5
        self.assertEqual([count for _, count in assay._batches(big, 100)], [2, 2, 1])

    def test_a_job_that_is_being_sent_at_ctrl_c_is_deleted(self):
        job = {"id": "j1", "kind": "labels", "state": "RUNNING"}

        class Slow(list):
            def pop(self, at):
                if len(self) == 2:
                    os.kill(os.getpid(), signal.SIGINT)
                    time.sleep(0.3)
                return super().pop(at)

        with Server(ok({"job": job}), ok({"job": job})) as server:
            server.responses = Slow(server.responses)
            with self.assertRaises(KeyboardInterrupt):
                next(server.client().bulk.screen(["0x1"]))
            self.assertEqual(
                [(method, path.split("?")[0]) for method, path, _, _ in server.requests],
                [("POST", "/api/v1/jobs"), ("DELETE", "/api/v1/jobs/j1")],
            )

    def test_an_upload_from_a_file_is_sent_again_from_its_start(self):
        file = io.BytesIO(b"header\na\nb\n")
        file.readline()
        job = {"job": {"id": "j1"}}
        with Server(refusal(500, "INTERNAL"), ok(job)) as server:
            self.assertEqual(server.client().jobs.create(file, kind="labels").job.id, "j1")
            self.assertEqual([body for *_, body in server.requests], [b"a\nb\n"] * 2)


class Source(unittest.TestCase):
    def test_is_valid_for_python_3_9(self):
        ast.parse((FOLDER / "assay.py").read_text(encoding="utf-8"), feature_version=(3, 9))

    def test_imports_the_standard_library_alone(self):
        tree = ast.parse((FOLDER / "assay.py").read_text(encoding="utf-8"))
        names = {alias.name.split(".")[0] for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
        names |= {node.module.split(".")[0] for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        if hasattr(sys, "stdlib_module_names"):
            # Only the verification of receipts needs it, and imports it when it is called.
            self.assertEqual(names - set(sys.stdlib_module_names), {"cryptography"})

    def test_every_import_is_used(self):
        text = (FOLDER / "assay.py").read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                for alias in node.names:
                    name = (alias.asname or alias.name).split(".")[0]
                    if name != "annotations":
                        self.assertGreater(text.count(name), 1, name)


if __name__ == "__main__":
    unittest.main()
