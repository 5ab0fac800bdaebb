"""Calls a server through a proxy that breaks connections. test/sdk/python.test.ts runs it: `faults.py charges|stream|bulk COUNT`."""

import json
import pathlib
import sys
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from assay import Assay  # noqa: E402

THREADS = 20


def charges(count):
    """Screens `count` addresses, each of which may fail on the way several times. The client is shared by threads."""
    # A try takes as long as the server is busy; the faults alone would need fewer tries.
    client = Assay(timeout=2.0, max_retries=20)
    waits = []
    sleep = client._sleep

    def short(seconds):
        waits.append(seconds)
        sleep(min(seconds, 0.05))

    client._sleep = short

    def screen(n):
        result = client.screening.create(address=f"0x{n:040x}", chain="ETH")
        return result.address, result.response.replayed

    with ThreadPoolExecutor(THREADS) as threads:
        results = list(threads.map(screen, range(count)))
    assert [address for address, _ in results] == [f"0x{n:040x}" for n in range(count)]
    return {"retries": len(waits), "replayed": sum(replayed for _, replayed in results)}


def stream(count):
    """Reads `count` alerts from a stream that is cut again and again, and resolves the last one."""
    client = Assay()
    waits = []
    sleep = client._sleep
    client._sleep = lambda seconds: (waits.append(seconds), sleep(min(seconds, 0.05)))
    seen = []
    events = client.alerts.stream(last_event_id="0")
    for event in events:
        if event.event == "alert.created":
            seen.append((int(event.id), event.alert.sequence))
            last = event.alert.id
        if len(seen) == count:
            break
    events.close()
    alert = client.alerts.set_status(last, status="RESOLVED").alert
    assert alert.status == "RESOLVED" and alert.resolved_at
    return {"seen": seen, "resumed": len(waits)}


def bulk(count):
    """Screens `count` addresses in jobs of a third of them. Every fourth line is not an address."""
    client = Assay(timeout=20.0)
    waits = []
    sleep = client._sleep
    client._sleep = lambda seconds: (waits.append(seconds), sleep(min(seconds, 0.1)))

    def line(n):
        return f"wrong {n}" if n % 4 == 3 else f"0x{n:040x}"

    others = {job.id for job in client.jobs.list()}

    def left():
        """Jobs on the server, except those of other runs."""
        return [job for job in client.jobs.list() if job.id not in others]

    results = client.bulk.screen((line(n) for n in range(count)), chain="ETH", batch_lines=-(-count // 3))
    for n, result in enumerate(results):
        assert result["address"] == line(n), (n, result)
        assert ("error" in result) == (n % 4 == 3), result
        if n % 4 == 3:
            assert result["line"] == n + 1, result
    assert n + 1 == count
    jobs = [job.id for job in left()]
    # A generator that is closed early leaves no job behind that would still charge.
    early = client.bulk.screen([line(n) for n in range(30)], chain="ETH", batch_lines=10)
    next(early)
    early.close()
    states = {job.state for job in left()}
    assert states <= {"CANCELLED", "DONE"}, states
    return {"jobs": jobs}


if __name__ == "__main__":
    print(json.dumps(globals()[sys.argv[1]](int(sys.argv[2]))))
