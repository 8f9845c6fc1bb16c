"""Sends queries to storage one after the other on one connection, as an end user, and prints how long the answers took.

Arguments: the service's address, samples. Environment: KEY, MASTER. Exits with 1 when an answer was an error or empty.
"""

import http.client, json, os, random, statistics, sys, time, urllib.parse

address, samples = urllib.parse.urlsplit(sys.argv[1]), int(sys.argv[2])
must = 5.0
pick = random.Random(1)
connection = http.client.HTTPConnection(address.hostname, address.port)
headers = {"X-Martlet-Master-Key": os.environ["MASTER"], "X-Martlet-User": "u77"}


def ask(path, **parameters):
    for name in ("where",):
        if name in parameters:
            parameters[name] = json.dumps(parameters[name])
    query = "?" + urllib.parse.urlencode(parameters, quote_via=urllib.parse.quote) if parameters else ""
    start = time.perf_counter()
    connection.request("GET", f"/api/{os.environ['KEY']}/storage/{path}{query}", headers=headers)
    answer = connection.getresponse()
    body = answer.read()
    return (time.perf_counter() - start) * 1e3, answer.status, body


def post(where, **parameters):
    return lambda: ask("Post", where=where(), **parameters)


def number(upper):
    return int(pick.random() * upper)


def pointer(kind, id):
    return {"__type": "Pointer", "className": kind, "objectId": id}


def place():
    return {"__type": "GeoPoint", "latitude": 43.5 + pick.random() * 6, "longitude": -1 + pick.random() * 7}


near = lambda: {"place": {"$nearSphere": place(), "$maxDistanceInKilometers": 5}}
queries = [
    ("one by id (for comparison)", "primary key", lambda: ask(f"Team/team{1 + number(1000)}")),
    ("newest 100 readable", "created, always there", lambda: ask("Post", order="-created", limit=100)),
    ("pointer equality", "equality, always there", post(lambda: {"author": pointer("Member", f"u{number(10000)}")})),
    ("array contains", "equality, always there", post(lambda: {"tags": f"t{number(10000)}"})),
    ("contains all", "equality, always there", post(lambda: {"tags": {"$all": [f"t{number(10000)}", f"kind{number(20)}"]}})),
    ("prefix", "prefix on name", post(lambda: {"name": {"$regex": "^%03x" % number(4096)}})),
    ("full text, two words", "text on text", post(lambda: {"text": {"$text": {"$search": f"w{90 + number(50)} w{150 + number(50)}"}}})),
    ("5 km by distance", "geo on place", post(near)),
    ("members of a relation", "relations, always there", post(lambda: {"$relatedTo": {"object": pointer("Team", f"team{1 + number(1000)}"), "key": "posts"}})),
    ("filtered count", "equality, always there", post(lambda: {"tags": f"t{number(10000)}", "done": True}, count="true", limit=1)),
]

failures = 0
print(f"{'query':<28} {'index':<26} {'p50 ms':>7} {'p95 ms':>7} {'rows':>6}")
for name, index, query in queries:
    for _ in range(20):
        query()
    times, counts, error = [], [], None
    for _ in range(samples):
        took, status, body = query()
        times.append(took)
        if status != 200:
            error = body[:300]
        else:
            counts.append(json.loads(body).get("count", 1))
    times.sort()
    if error or not any(counts):
        failures += 1
        print(f"{name:<28} {index:<26} failed: {error or 'no objects'}")
        continue
    p50, p95 = times[len(times) // 2], times[len(times) * 95 // 100]
    print(f"{name:<28} {index:<26} {p50:7.2f} {p95:7.2f} {statistics.mean(counts):6.0f}  {'ok' if p50 < must else 'MISSED'}", flush=True)
sys.exit(1 if failures else 0)
