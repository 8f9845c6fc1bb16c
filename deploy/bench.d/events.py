# Clients that send batches of ten events until SIGTERM. Each batch is repeated until it is acknowledged. After SIGTERM, the batch
# being sent has another minute.
# Arguments: the server's address, an ingest key, the file that lists acknowledged events.
import base64
import collections
import datetime
import json
import signal
import sys
import threading
import time
import urllib.error
import urllib.request

url, key, path = sys.argv[1:4]
stopped = threading.Event()
signal.signal(signal.SIGTERM, lambda *_: stopped.set())
lock = threading.Lock()
answers = collections.Counter()
headers = {"Authorization": "Basic " + base64.b64encode((key + ":").encode()).decode(), "Content-Type": "application/json"}


def post(body):
    try:
        with urllib.request.urlopen(urllib.request.Request(url + "/segment/v1/batch", body, headers), timeout=10) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code
    except OSError as error:
        return type(error).__name__


def client(number, out):
    rounds = 0
    while not stopped.is_set():
        ids = ["%d-%d-%d" % (number, rounds, index) for index in range(10)]
        now = datetime.datetime.now(datetime.timezone.utc).isoformat()
        batch = [
            {"type": "track", "event": "Drill", "userId": "u%d" % number, "messageId": "drill-" + id, "timestamp": now, "properties": {"drill": id}}
            for id in ids
        ]
        last = None
        while last is None or time.monotonic() < last:
            if last is None and stopped.is_set():
                last = time.monotonic() + 60
            status = post(json.dumps({"batch": batch, "sentAt": datetime.datetime.now(datetime.timezone.utc).isoformat()}).encode())
            with lock:
                answers[status] += 1
            if status == 200:
                with lock:
                    out.write("".join(id + "\n" for id in ids))
                    out.flush()
                break
            time.sleep(0.05)
        rounds += 1


with open(path, "w") as out:
    clients = [threading.Thread(target=client, args=(number, out)) for number in range(8)]
    for thread in clients:
        thread.start()
    while not stopped.wait(0.2):
        pass
    for thread in clients:
        thread.join()
print("answers:", dict(answers))
