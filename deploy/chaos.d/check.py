"""Compares what the server has with what it acknowledged."""
import collections, time, urllib.parse

from server import Client, Failed

WAIT = 60  # seconds to wait for what is stored only after its answer: crash reports wait on disk first


def check(server, load):
    """Prints a line for each kind of write; returns how many are lost or duplicated, or were never sent."""
    first, second = (Client(app) for app in server.apps)
    print(f"\n{'writes of':14} {'acknowledged':>12} {'there':>8} {'lost':>6} {'duplicated':>11}")
    bad = 0
    for kind, found in {
        "object_once": lambda: objects(first, "Chaos"),
        "object_retried": lambda: objects(first, "ChaosRetried"),
        "neighbour": lambda: objects(second, "Chaos"),
        "file": lambda: files(first, load.acknowledged["file"]),
        "event": lambda: server.sql("SELECT properties ->> 'key' FROM analytics.events WHERE properties ? 'key'"),
        "crash": lambda: server.sql("SELECT event_id FROM analytics.crash_events"),
        "user": lambda: server.sql("SELECT profile ->> 'key' FROM auth.users WHERE profile ? 'key'"),
        "installation": lambda: server.sql("SELECT id FROM notifications.installations"),
        "publication": lambda: server.sql("SELECT note FROM config.versions"),
    }.items():
        bad += compare(kind, load, found)
    return bad + count(first, load)


def compare(kind, load, find):
    deadline = time.monotonic() + WAIT
    acknowledged = load.acknowledged[kind]
    while True:
        counts = collections.Counter(find())
        lost = acknowledged - counts.keys()
        if not lost or kind != "crash" or time.monotonic() > deadline:
            break
        time.sleep(1)
    duplicated = [key for key, number in counts.items() if number > 1]
    strange = counts.keys() - load.tried[kind]
    print(f"{kind:14} {len(acknowledged):12} {len(counts):8} {len(lost):6} {len(duplicated):11}"
          + (f"   and {len(strange)} that nobody sent" if strange else ""))
    return len(lost) + len(duplicated) + len(strange)


def count(client, load):
    """Increments without an answer may have taken effect, so the number may lie between those acknowledged and those tried."""
    there = client.call("GET", "storage/ChaosCount/one")["count"]
    least, most = len(load.acknowledged["increment"]), len(load.tried["increment"])
    lost, duplicated = max(0, least - there), max(0, there - most)
    print(f"{'increment':14} {least:12} {there:8} {lost:6} {duplicated:11}")
    return lost + duplicated


def objects(client, collection):
    found, cursor = [], ""
    while True:
        page = client.call("POST", f"storage/query/{collection}?limit=1000&cursor={urllib.parse.quote(cursor)}", {})
        found += [item["key"] for item in page["data"]]
        cursor = page.get("cursor")
        if not cursor:
            return found


def files(client, keys):
    """Those whose content is what was sent."""
    def is_there(key):
        try:
            return client.call("GET", f"upload/chaos/{key}") == key.encode() * 100
        except Failed:
            return False
    return [key for key in keys if is_there(key)]
