"""Kills storage, gateway and PostgreSQL again and again while live streams are read, and compares what each subscriber got with the change log.

Arguments: the server's state folder, the folder of programs, kills, subscribers. Environment: KEY, SECRET, DATABASE, SCHEMA.

There are two copies of storage: the supervisor's, and one that is started here, with a gateway in front of both. One of the three, drawn by
lot, or PostgreSQL, is killed by SIGKILL; the supervisor, or this program, starts it again. Exits with 1 when an event was lost or came twice.
"""

import collections, http.client, json, os, random, re, signal, socket, subprocess, sys, threading, time, urllib.parse

state, programs, kills, subscribers = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
writers = 4
pick = random.Random(7)
connection = json.load(open(f"{state}/connection.json"))
key, secret = os.environ["KEY"], os.environ["SECRET"]
stop_writing, stop_reading = threading.Event(), threading.Event()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Supervised:
    """The supervisor's process."""

    def __init__(self, program):
        self.name = program

    def kill(self):
        os.kill(int(open(f"{state}/run/{self.name}.pid").read()), signal.SIGKILL)


class Own:
    """Another copy of a program, with the environment of the supervisor's copy and its own ports; started again after it was killed."""

    def __init__(self, program, **settings):
        pid = int(open(f"{state}/run/{program}.pid").read())
        lines = open(f"/proc/{pid}/environ", "rb").read().decode().split("\0")
        self.port, self.name, self.program = free_port(), f"second {program}", program
        self.environment = dict(line.split("=", 1) for line in lines if "=" in line)
        # The first copy listens on that socket.
        self.environment.pop("MARTLET_HTTP_SOCKET", None)
        self.environment |= {"MARTLET_HTTP_PORT": str(self.port), "MARTLET_INTERNAL_PORT": str(free_port())} | settings
        self.log = open(f"{state}/log/second-{program}.log", "ab")
        self.start()

    def start(self):
        self.process = subprocess.Popen([f"{programs}/{self.program}"], env=self.environment, stderr=self.log, stdout=self.log)

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.start()

    def end(self):
        self.process.kill()
        self.process.wait()


first_storage = connection["services"]["storage"].removeprefix("http://")
second = Own("storage")
front = Own(
    "gateway", MARTLET_UPSTREAM_STORAGE=f"{first_storage},127.0.0.1:{second.port}", MARTLET_STATE_DIRECTORY=f"{state}/second-gateway")


def ask(method, path, body=None):
    request = http.client.HTTPConnection("127.0.0.1", front.port, timeout=40)
    try:
        request.request(method, f"/api/{key}/{path}", body=body, headers={"X-Martlet-Secret": secret})
        answer = request.getresponse()
        return answer.status, answer.read()
    finally:
        request.close()


class Writer(threading.Thread):
    """Creates objects, changes and deletes some of them; each write until it is acknowledged."""

    def __init__(self, number):
        super().__init__(daemon=True)
        self.number, self.acknowledged, self.refused = number, 0, collections.Counter()

    def run(self):
        round = 0
        while not stop_writing.is_set():
            round += 1
            id = f"{self.number}-{round}"
            self.write("POST", "storage/Break", json.dumps({"_id": id, "round": round}))
            if round % 3 == 0:
                self.write("PATCH", f"storage/Break/{id}", '{"changed":true}')
            if round % 5 == 0:
                self.write("DELETE", f"storage/Break/{id}", None)
            time.sleep(0.02)

    def write(self, method, path, body):
        while True:
            try:
                status, _ = ask(method, path, body)
                # A delete whose answer was lost finds nothing the second time.
                if status < 300 or (method == "DELETE" and status == 404):
                    self.acknowledged += 1
                    return
                self.refused[status] += 1
            except OSError:
                self.refused["broken"] += 1
            except http.client.HTTPException:
                self.refused["broken"] += 1
            time.sleep(0.05)


class Subscriber(threading.Thread):
    """Reads events and comes back with the last id after each break, as a browser does."""

    def __init__(self, number):
        super().__init__(daemon=True)
        self.cursor, self.events, self.breaks, self.refused = None, [], 0, collections.Counter()
        self.opened, self.error = threading.Event(), None

    def run(self):
        while not stop_reading.is_set() and not self.error:
            try:
                self.follow()
            except (OSError, http.client.HTTPException):
                pass
            self.breaks += 1
            time.sleep(0.05 + 0.1 * random.random())

    def follow(self):
        request = http.client.HTTPConnection("127.0.0.1", front.port, timeout=25)
        try:
            headers = {"X-Martlet-Secret": secret} | ({"Last-Event-ID": self.cursor} if self.cursor else {})
            request.request("GET", f"/api/{key}/live/Break", headers=headers)
            answer = request.getresponse()
            if answer.status != 200:
                self.refused[answer.status] += 1
                if answer.status < 500:
                    self.error = answer.read()
                return
            name, id, data = "", None, ""
            while line := answer.readline():
                line = line.decode().rstrip("\n")
                if line.startswith("id: "):
                    id = line[4:]
                elif line.startswith("event: "):
                    name = line[7:]
                elif line.startswith("data: "):
                    data = line[6:]
                elif not line:
                    self.take(name, id, data)
                    name, id, data = "", None, ""
        finally:
            request.close()

    def take(self, name, id, data):
        """Records an event at the blank line that ends it. An event that was cut off has none and does not count."""
        if name == "error":
            self.error = data
            return
        if name and name != "open":
            self.events.append(json.loads(data)["seq"])
        self.cursor = id or self.cursor
        self.opened.set()


def log():
    text = f"SELECT seq FROM {os.environ['SCHEMA']}._changes WHERE collection = 'Break' AND id <> 'first' ORDER BY seq"
    output = subprocess.run(["psql", "-qAt", "-c", text, os.environ["DATABASE"]], check=True, capture_output=True, text=True).stdout
    return [int(line) for line in output.split()]


def wait(what, limit, is_so):
    end = time.monotonic() + limit
    while not is_so():
        if time.monotonic() > end:
            print(f"not within {limit} s: {what}")
            return False
        time.sleep(0.1)
    return True


def answers():
    try:
        return ask("GET", "storage/Break/first")[0] == 200
    except OSError:
        return False


try:
    if not wait("the second gateway answers", 20, answers):
        sys.exit(1)
    readers = [Subscriber(number) for number in range(subscribers)]
    for reader in readers:
        reader.start()
    if not wait("the streams are open", 20, lambda: all(reader.opened.is_set() for reader in readers)):
        sys.exit(1)
    start = time.monotonic()
    authors = [Writer(number) for number in range(writers)]
    for author in authors:
        author.start()
    victims, killed = [Supervised("storage"), second, front, Supervised("postgres")], collections.Counter()
    while sum(killed.values()) < kills:
        time.sleep(0.5 + 2 * pick.random())
        victim = pick.choice(victims)
        try:
            victim.kill()
            killed[victim.name] += 1
        except (OSError, ValueError):
            # It is being started again.
            continue
        if sum(killed.values()) % 10 == 0:
            print(f"{sum(killed.values())} kills, {time.monotonic() - start:.0f} s", flush=True)
    time.sleep(2)
    stop_writing.set()
    for author in authors:
        author.join(60)
    expected = log()
    wait("every subscriber has the last event", 60, lambda: all(len(set(reader.events)) >= len(expected) for reader in readers))
    stop_reading.set()

    lost = sum(len(set(expected) - set(reader.events)) for reader in readers)
    unknown = sum(len(set(reader.events) - set(expected)) for reader in readers)
    duplicated = sum(len(reader.events) - len(set(reader.events)) for reader in readers)
    errors = [reader.error for reader in readers if reader.error]
    refused = sum((reader.refused for reader in readers), collections.Counter())
    print(f"\n{sum(killed.values())} kills by SIGKILL ({', '.join(f'{name} {count}' for name, count in sorted(killed.items()))}) "
          f"in {time.monotonic() - start:.0f} s")
    print(f"{len(expected)} events by {writers} writers ({sum(author.acknowledged for author in authors)} writes acknowledged, "
          f"not at first: {dict(sum((author.refused for author in authors), collections.Counter()))})")
    print(f"{subscribers} subscribers, {sum(len(reader.events) for reader in readers)} events read, came back {sum(reader.breaks for reader in readers)} times "
          f"(refused meanwhile: {dict(refused)})")
    print(f"lost {lost}, duplicated {duplicated}, not in the log {unknown}, streams that gave up {len(errors)} {errors[:1] or ''}")
    sys.exit(1 if lost or duplicated or unknown or errors or not expected else 0)
finally:
    stop_writing.set(), stop_reading.set()
    front.end(), second.end()
