"""Measures live fan-out for deploy/bench peers: how many events a second reach the subscribers of a collection.

Arguments: martlet or pocketbase, its address, subscribers, seconds. Environment: KEY and SECRET of Martlet. Prints `RESULT`, events per
second over all subscribers, and p50 and p99 in ms from sending a write until all subscribers have its event. Fails if an event is lost
or comes twice.

WRITERS connections write. At most WINDOW writes are under way that some subscriber has not seen, so that no one falls behind.
"""

import http.client
import itertools
import json
import os
import re
import select
import socket
import sys
import time
import urllib.parse
from concurrent.futures import ThreadPoolExecutor

peer, address, subscribers, seconds = sys.argv[1], urllib.parse.urlsplit(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
WRITERS, WINDOW, WARM_UP, PATIENCE = 4, 8, 20, 10
martlet = peer == "martlet"
secret = {"X-Martlet-Secret": os.environ["SECRET"]} if martlet else {}
stream = f"/api/{os.environ['KEY']}/live/Live" if martlet else "/api/realtime"
objects = f"/api/{os.environ['KEY']}/storage/Live" if martlet else "/api/collections/Live/records"
clock = time.monotonic


def connect():
    return http.client.HTTPConnection(address.hostname, address.port, timeout=30)


def post(connection, path, body):
    connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json", **secret})
    answer = connection.getresponse()
    answer.read()
    if not 200 <= answer.status < 300:
        sys.exit(f"{peer} answered {answer.status} to POST {path}")


def read_until(connection, pattern):
    text = b""
    while not (found := re.search(pattern, text)):
        part = connection.recv(65_536)
        text += part
        if not part:
            sys.exit(f"{peer} ended a stream: {text[:400]}")
    return found


def subscribe(calls):
    """A socket with a stream that has received its first event."""
    connection = socket.create_connection((address.hostname, address.port), timeout=30)
    fields = "".join(f"{name}: {value}\r\n" for name, value in secret.items())
    connection.sendall(f"GET {stream} HTTP/1.1\r\nHost: {address.netloc}\r\nAccept: text/event-stream\r\n{fields}\r\n".encode())
    if martlet:
        read_until(connection, b"event: open")
    else:
        client = read_until(connection, b'"clientId": ?"([^"]+)"')[1].decode()
        post(calls, "/api/realtime", {"clientId": client, "subscriptions": ["Live/*"]})
    connection.setblocking(False)
    return connection


def write(permits, results):
    """Sends a write for each byte that comes from `permits`. Then reports when each was sent, by its number."""
    numbers, sent = itertools.count(), {}

    def send():
        connection = connect()
        while os.read(permits, 1):
            number = next(numbers)
            sent[number] = clock()
            post(connection, objects, {"number": number, "text": "lorem ipsum dolor sit amet"})

    with ThreadPoolExecutor(WRITERS) as pool:
        for writer in [pool.submit(send) for _ in range(WRITERS)]:
            writer.result()
    with open(results, "w") as file:
        json.dump([sent[number] for number in range(len(sent))], file)


def start_writers():
    """The ends of two pipes: one takes a byte for each write that may be sent, from the other the times can be read."""
    permits, permit = os.pipe()
    results, result = os.pipe()
    if os.fork() == 0:
        status = 1
        try:
            os.close(permit)
            write(permits, result)
            status = 0
        except SystemExit as problem:
            print(problem, file=sys.stderr)
        finally:
            os._exit(status)
    os.close(permits)
    os.close(result)
    return permit, results


def deliver(sockets, permit):
    """When the last subscriber had each event, by its number."""
    poll = select.epoll()
    for descriptor in sockets:
        poll.register(descriptor, select.EPOLLIN)
    missing, complete, tails = {}, {}, dict.fromkeys(sockets, b"")
    allowed = os.write(permit, bytes(WINDOW))
    progress, end = clock(), None
    while len(complete) < allowed:
        for descriptor, _ in poll.poll(0.2):
            data = sockets[descriptor].recv(65_536)
            if not data:
                sys.exit(f"{peer} ended a stream")
            progress, data, last = clock(), tails[descriptor] + data, 0
            for found in re.finditer(rb'"number": ?(\d+)[,}]', data):
                number, last = int(found[1]), found.end()
                waiting = missing.setdefault(number, set(sockets))
                if descriptor not in waiting:
                    sys.exit(f"{peer} sent an event twice")
                waiting.remove(descriptor)
                if waiting:
                    continue
                complete[number] = progress
                if len(complete) == WARM_UP:
                    end = progress + seconds
                if end is None or progress < end:
                    allowed += os.write(permit, b"\0")
            tails[descriptor] = data[last:][-64:]
        if clock() - progress > PATIENCE:
            sys.exit(f"{peer} lost events: {sum(map(len, missing.values()))} did not come")
    os.close(permit)
    return complete


calls = connect()
sockets = {each.fileno(): each for each in (subscribe(calls) for _ in range(subscribers))}
permit, results = start_writers()
complete = deliver(sockets, permit)
with open(results) as file:
    text = file.read()
if os.waitstatus_to_exitcode(os.wait()[1]):
    sys.exit(1)
sent = json.loads(text)
times = sorted(complete[number] - sent[number] for number in range(WARM_UP, len(sent)))
ends = sorted(complete.values())
rate = (len(ends) - WARM_UP) * subscribers / (ends[-1] - ends[WARM_UP - 1])
print(f"RESULT {rate:.0f} {times[len(times) // 2] * 1e3:.1f} {times[len(times) * 99 // 100] * 1e3:.1f}")
