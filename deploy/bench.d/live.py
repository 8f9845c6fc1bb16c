"""Holds live streams and measures how long a write is on its way to all of them, then what a rule that names the user costs.

Arguments: the server's address, streams, streams under a rule, writes, name=pid of its processes. Environment: KEY, MASTER, SECRET.
Exits with 1 when an event did not come, or came twice.

One loop reads all sockets and notes the time; what was read is looked at afterwards, so that the reader is not what is measured. The writes
come from a process of their own and carry the time they were sent at.
"""

import http.client, json, os, re, select, socket, sys, time, urllib.parse

address = urllib.parse.urlsplit(sys.argv[1])
streams, ruled, writes = map(int, sys.argv[2:5])
processes = dict(text.split("=") for text in sys.argv[5:])
must = 50.0
clock = time.monotonic_ns


def quantile(values, part):
    return values[min(len(values) - 1, int(len(values) * part))]


def memory():
    sizes = {}
    for name, pid in processes.items():
        with open(f"/proc/{pid}/status") as file:
            sizes[name] = next(int(line.split()[1]) / 1024 for line in file if line.startswith("VmRSS"))
    return sizes


def seconds(pid):
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def cpu():
    used = {}
    for name, pid in processes.items():
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            family = [pid] + (file.read().split() if name == "postgres" else [])
        used[name] = sum(seconds(member) for member in family)
    return used | {"this client": sum(os.times()[:2])}


def head(number, identity):
    return (f"GET /api/{os.environ['KEY']}/live/Live HTTP/1.1\r\nhost: {address.netloc}\r\n{identity(number)}\r\n\r\n").encode()


def as_user(number):
    return f"x-martlet-master-key: {os.environ['MASTER']}\r\nx-martlet-user: user{number}"


def as_anyone(number):
    return f"x-martlet-secret: {os.environ['SECRET']}"


def set_rules(**lists):
    connection = http.client.HTTPConnection(address.hostname, address.port)
    connection.request("PUT", f"/api/{os.environ['KEY']}/collections/Live/rules", body=json.dumps({"rules": lists}),
                       headers={"X-Martlet-Master-Key": os.environ["MASTER"]})
    answer = connection.getresponse()
    if answer.status != 200:
        sys.exit(f"the rules were refused: {answer.read()[:400]}")


def open_streams(identity, streams):
    """Sockets by descriptor, each with its first event read."""
    sockets = {}
    for first in range(0, streams, 50):
        waiting = {}
        for number in range(first, min(first + 50, streams)):
            connection = socket.create_connection((address.hostname, address.port), timeout=30)
            connection.sendall(head(number, identity))
            waiting[connection.fileno()] = connection
        for connection in waiting.values():
            text = b""
            while b"event: open" not in text:
                part = connection.recv(65536)
                text += part
                if not part or b"HTTP/1.1 200" not in text[:20]:
                    sys.exit(f"no stream: {text[:400]}")
            connection.setblocking(False)
        sockets |= waiting
    return sockets


def write(results, writes, rate):
    """Sends the writes, `rate` a second, or one after the other if it is 0."""
    connection = http.client.HTTPConnection(address.hostname, address.port)
    answers = []
    for number in range(writes):
        body = json.dumps({"number": number, "text": "lorem ipsum dolor sit amet", "t": clock()})
        connection.request("POST", f"/api/{os.environ['KEY']}/storage/Live", body=body, headers={"X-Martlet-Secret": os.environ["SECRET"]})
        answer = connection.getresponse()
        answer.read()
        answers.append((json.loads(body)["t"], clock(), answer.status))
        if rate:
            time.sleep(1 / rate)
    os.write(results, json.dumps(answers).encode())


def read(sockets, done, seconds_after):
    """(descriptor, time, bytes) of everything that comes until `seconds_after` seconds after the end of `done`, and what was read from `done`."""
    poll = select.epoll()
    for descriptor in sockets:
        poll.register(descriptor, select.EPOLLIN)
    poll.register(done, select.EPOLLIN)
    parts, said, end = [], b"", None
    while end is None or clock() < end:
        for descriptor, _ in poll.poll(0.2):
            if descriptor == done:
                piece = os.read(done, 1 << 20)
                said += piece
                if not piece:
                    poll.unregister(done)
                    end = clock() + int(seconds_after * 1e9)
                continue
            data = sockets[descriptor].recv(65536)
            parts.append((descriptor, clock(), data))
            if not data:
                poll.unregister(descriptor)
    return parts, said


def in_child(act):
    reading, writing = os.pipe()
    if os.fork() == 0:
        os.close(reading)
        try:
            act(writing)
        finally:
            os._exit(0)
    os.close(writing)
    return reading


def alone():
    """How long frames take that one process writes into as many socket pairs: what reading itself costs."""
    pairs = [socket.socketpair() for _ in range(streams)]

    def send(results):
        for _ in range(20):
            start = b'data: {"object":{"t":%d,' % clock() + b" " * 350
            for pair in pairs:
                pair[0].send(start)
            time.sleep(0.1)

    parts, _ = read({pair[1].fileno(): pair[1] for pair in pairs}, in_child(send), 0.5)
    times = sorted(at - int(re.search(rb'"t": ?(\d+)', data)[1]) for _, at, data in parts)
    for pair in pairs:
        pair[0].close(), pair[1].close()
    os.wait()
    return f"p50 {quantile(times, 0.5) / 1e6:.1f} ms, p99 {quantile(times, 0.99) / 1e6:.1f} ms"


def measure(name, identity, streams=streams, writes=writes, rate=5, must=must):
    before = memory()
    start = clock()
    sockets = open_streams(identity, streams)
    took = (clock() - start) / 1e9
    time.sleep(2)
    held, used = memory(), cpu()
    parts, said = read(sockets, in_child(lambda results: write(results, writes, rate)), 3 if must else 10)
    used = {name: value - used[name] for name, value in cpu().items()}
    os.wait()
    for connection in sockets.values():
        connection.close()

    answers = json.loads(said)
    answered = {sent: at for sent, at, status in answers if status == 201}
    seen, tails, closed, times, since_answer, end = {}, {}, 0, [], [], 0
    for descriptor, at, data in parts:
        closed += not data
        data = tails.get(descriptor, b"") + data
        last = 0
        for found in re.finditer(rb'"t": ?(\d+)[,}]', data):
            key = (descriptor, int(found[1]))
            seen[key] = seen.get(key, 0) + 1
            times.append((at - key[1]) / 1e6)
            end = max(end, at)
            since_answer.append((at - answered.get(key[1], at)) / 1e6)
            last = found.end()
        tails[descriptor] = data[last:][-64:]
    lost, duplicated = len(answered) * streams - len(seen), sum(count - 1 for count in seen.values())
    times.sort()
    since_answer.sort()
    p99 = quantile(times, 0.99) if times else float("inf")
    pace = f"at {rate} a second" if rate else "one after the other"
    print(f"{name}: {streams} streams opened in {took:.1f} s, {len(answered)} of {writes} writes {pace}")
    if times:
        verdict = f"   must: p99 ≤ {must:.0f}  {'ok' if p99 <= must else 'MISSED'}" if must else ""
        print(f"  from sending the write to the event   p50 {quantile(times, 0.5):6.1f} ms  p99 {p99:6.1f} ms  longest {times[-1]:6.1f} ms{verdict}")
        print(f"  from the write's answer to the event  p50 {quantile(since_answer, 0.5):6.1f} ms  p99 {quantile(since_answer, 0.99):6.1f} ms")
    speed = len(times) / (end - min(answered)) * 1e9 if times else 0
    print(f"  events {len(times)}, {speed:.0f} a second, lost {lost}, duplicated {duplicated}, streams that ended {closed}")
    print("  resident MB, before → with the streams: " + ", ".join(f"{key} {before[key]:.0f} → {held[key]:.0f}" for key in before))
    print("  CPU µs per event and subscriber: " + ", ".join(f"{key} {value / max(1, len(times)) * 1e6:.1f}" for key, value in used.items()), flush=True)
    return lost + duplicated + closed + (len(answered) != writes)


print(f"reading {streams} sockets at once, without a server: {alone()}", flush=True)
failures = measure("everyone the same", as_anyone)
time.sleep(2)
failures += measure("each another user", as_user)

# Everyone may see everything, but because the rule names the user's id, storage asks PostgreSQL for each subscriber.
for name, lists in (("no rule", {}), ("a rule with $user.id", {"find": [{"where": {"author": {"$ne": "$user.id"}}}]})):
    set_rules(**lists)
    for rate in 2, 0:
        time.sleep(2)
        failures += measure(name, as_user, ruled, min(writes, 20), rate, None)
sys.exit(1 if failures else 0)
