"""Measures the time from the publication of a configuration until clients that follow it have it.

Argument: the server's address. Environment: KEY, MASTER, SECRET. BENCH_FOLLOWERS (100) clients hold `config/events`; BENCH_PUBLISHES (60)
configurations are published, one every 0.25 s. The clock starts before the call that publishes. Exits with 1 when an event did not come.
"""

import http.client, json, os, re, select, socket, sys, time, urllib.parse

address = urllib.parse.urlsplit(sys.argv[1])
key, secret, master = (os.environ[name] for name in ("KEY", "SECRET", "MASTER"))
followers, publishes = int(os.environ.get("BENCH_FOLLOWERS", "100")), int(os.environ.get("BENCH_PUBLISHES", "60"))
clock = time.monotonic_ns


def quantile(values, part):
    return values[min(len(values) - 1, int(len(values) * part))]


def follow():
    connection = socket.create_connection((address.hostname, address.port))
    connection.sendall(f"GET /api/{key}/config/events HTTP/1.1\r\nhost: {address.netloc}\r\nx-martlet-secret: {secret}\r\n\r\n".encode())
    text = b""
    while b"event: open" not in text:
        part = connection.recv(65536)
        if not part or len(text) > 1 << 20:
            sys.exit(f"no stream: {text[:300]!r}")
        text += part
    connection.setblocking(False)
    return connection


def publish(number):
    body = json.dumps({"appVersion": "9.0", "configuration": {"mainSettings": {"number": number}}})
    caller.request("POST", f"/api/{key}/remote", body, {"x-martlet-master-key": master, "content-type": "application/json"})
    answer = caller.getresponse()
    text = answer.read()
    if answer.status != 201:
        sys.exit(f"not published: {answer.status} {text[:300]!r}")


sockets = {connection.fileno(): connection for connection in (follow() for _ in range(followers))}
caller = http.client.HTTPConnection(address.hostname, address.port)
poll = select.epoll()
for descriptor in sockets:
    poll.register(descriptor, select.EPOLLIN)
pattern = re.compile(rb'"kind":"configuration","name":"9\.0","version":(\d+)')
first, last, published, missing = [], [], [], 0

for number in range(1, publishes + 1):
    start, waiting, buffers = clock(), set(sockets), {}
    publish(number)
    published.append((clock() - start) / 1e6)
    while waiting and clock() - start < 10e9:
        for descriptor, _ in poll.poll(0.1):
            now = clock()
            buffers[descriptor] = buffers.get(descriptor, b"") + sockets[descriptor].recv(1 << 20)
            if descriptor in waiting and any(int(found) == number for found in pattern.findall(buffers[descriptor])):
                waiting.discard(descriptor)
                (first if len(waiting) == followers - 1 else last).append((now - start) / 1e6)
    missing += len(waiting)
    time.sleep(0.25)

every = sorted(first + last)
print(f"{publishes} publications to {followers} followers, ms from before the call: p50 %.1f, p99 %.1f, most %.1f (must: 1,000); the call itself p50 %.1f, p99 %.1f"
      % (quantile(every, 0.5), quantile(every, 0.99), every[-1], quantile(sorted(published), 0.5), quantile(sorted(published), 0.99)))
print(f"events that did not come: {missing}")
sys.exit(1 if missing else 0)
