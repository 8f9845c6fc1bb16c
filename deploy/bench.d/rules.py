"""Sends the same queries with and without a rule, in turn on one connection, as an end user, and prints what the rule costs.

Arguments: the service's address, samples. Environment: KEY, MASTER. Exits with 1 when an answer was wrong.
"""

import http.client, json, os, statistics, sys, time, urllib.parse

address, samples = urllib.parse.urlsplit(sys.argv[1]), int(sys.argv[2])
must = 5.0
connection = http.client.HTTPConnection(address.hostname, address.port)
master = {"X-Martlet-Master-Key": os.environ["MASTER"]}
user = {**master, "X-Martlet-User": "u77"}


def send(method, path, headers=user, body=None):
    start = time.perf_counter()
    connection.request(method, f"/api/{os.environ['KEY']}/{path}", headers=headers, body=body and json.dumps(body))
    answer = connection.getresponse()
    text = answer.read()
    return (time.perf_counter() - start) * 1e3, answer.status, text


def rules(**lists):
    _, status, text = send("PUT", "collections/Messages/rules", master, {"rules": lists})
    assert status == 200, text


def listed(where, **parameters):
    parameters["where"] = json.dumps(where)
    return lambda: send("GET", "storage/Messages?" + urllib.parse.urlencode(parameters, quote_via=urllib.parse.quote))


def pointer(id):
    return {"__type": "Pointer", "className": "Events", "objectId": id}


chat = listed({"event": pointer("e70")}, order="-created", limit=20)
author = [{"where": {"author": "$user.id"}}]
path = [{"where": {"event.participants": "$user.id"}, "through": {"event": "Events"}}]
query = [{"where": {"event": {"$inQuery": {"className": "Events", "where": {"participants": "$user.id"}}}}}]
likes = [{"who": ["authenticated"], "where": {"author": "$user.id"}, "operations": {"likes": {"Increment": [1]}}}]
like = {"likes": {"__op": "Increment", "amount": 1}}

# The request, the operation, the rule's name, the rule, and the longest time allowed (p50, ms).
pairs = [
    ("get", "get", "condition on the object", author, lambda: send("GET", "storage/Messages/m77"), None),
    ("get", "get", "through a Pointer", path, lambda: send("GET", "storage/Messages/m77"), None),
    ("list of own messages", "find", "condition on the object", author,
     listed({"author": "u77"}, order="-created", limit=20), None),
    ("chat of one event", "find", "through a Pointer", path, chat, must),
    ("chat of one event", "find", "$inQuery", query, chat, must),
    ("update by an operation", "update", "limits on the change", likes,
     lambda: send("PATCH", "storage/Messages/m77", body=like), None),
]


def measure(ask):
    times = []
    for _ in range(samples):
        took, status, text = ask()
        if status != 200 or b'"count":0' in text:
            return None, text[:300]
        times.append(took)
    return times, None


failures = 0
print(f"{'request':<24} {'rule':<26} {'without ms':>10} {'with ms':>8} {'p95 ms':>7} {'more':>6}")
for name, operation, kind, rule, ask, limit in pairs:
    without, with_rule, error = [], [], None
    for _ in range(3):
        for lists, times in (({}, without), ({operation: rule}, with_rule)):
            rules(**lists)
            for _ in range(20):
                ask()
            measured, error = measure(ask)
            if error:
                break
            times += measured
        if error:
            break
    rules()
    if error:
        failures += 1
        print(f"{name:<24} {kind:<26} failed: {error}")
        continue
    before, after = statistics.median(without), statistics.median(with_rule)
    with_rule.sort()
    verdict = "" if limit is None else "ok" if after < limit else "MISSED"
    print(f"{name:<24} {kind:<26} {before:10.2f} {after:8.2f} {with_rule[len(with_rule) * 95 // 100]:7.2f} "
          f"{(after / before - 1) * 100:5.0f}%  {verdict}", flush=True)
sys.exit(1 if failures else 0)
