"""Clients of every service that write without pause, remember what was acknowledged, and read it back."""
import collections, datetime, threading, time, uuid
from server import Client, Failed, LONGEST_HANG

PAUSE = 0.03  # seconds between two writes of a client: the load is to be steady, not high
RECOVERY_LIMIT = 60


class Load:
    def __init__(self, server):
        self.server, self.ending, self.lock = server, threading.Event(), threading.Lock()
        self.acknowledged = collections.defaultdict(set)  # kind → keys that must exist exactly once
        self.tried = collections.defaultdict(set)  # kind → keys that may exist
        self.answers, self.errors, self.last_error = 0, collections.Counter(), None
        self.violations = []
        # The kind of write, and whether one without an answer is repeated until it is answered. It must take effect only once.
        self.kinds = {
            self.object_once: False, self.object_retried: True, self.increment: True, self.file: True, self.event: True,
            self.crash: True, self.user: True, self.installation: True, self.publication: True, self.neighbour: False}
        self.last_success = {kind.__name__: 0.0 for kind in self.kinds}  # kind → start of its last request that succeeded
        self.last_end, self.pauses = {}, {}  # kind → end of its last success; longest time between the ends of two
        self.neighbours_object = self.own_object = None
        self.token, self.token_ends = {}, 0.0  # the access token of a user of the second app, and when it expires
        self.threads = [threading.Thread(target=self.run, args=item) for item in self.kinds.items()]

    def run(self, kind, is_repeated):
        name, key = kind.__name__, None
        # The kind `neighbour` writes to the second app.
        client = Client(self.server.apps[1 if name == "neighbour" else 0])
        while not self.ending.is_set():
            key = key or str(uuid.uuid4())
            with self.lock:
                self.tried[name].add(key)
            start, failure = time.monotonic(), None
            try:
                kind(client, key)
            except Failed as error:
                failure = error
            with self.lock:
                self.answers += 1
                if failure:
                    self.errors[f"{name} {failure.args[0]}"] += 1
                    self.last_error = (name, *failure.args)
                else:
                    self.acknowledged[name].add(key)
                    self.last_success[name] = start
                    end = time.monotonic()
                    self.pauses[name] = max(self.pauses.get(name, 0.0), end - self.last_end.get(name, end))
                    self.last_end[name] = end
            key = key if failure and is_repeated else None
            time.sleep(0.05 if failure else PAUSE)

    def acknowledge(self, kind, key):
        """Records a write as acknowledged before the later steps of its kind, which may fail."""
        with self.lock:
            self.acknowledged[kind].add(key)

    # --- storage ---

    def object_once(self, client, key):
        self.own_object = path = "storage/Chaos/" + client.call("POST", "storage/Chaos", {"key": key})["_id"]
        self.acknowledge("object_once", key)
        self.read_back(client, path, key)

    def object_retried(self, client, key):
        client.call("POST", "storage/ChaosRetried", {"key": key}, headers={"Idempotency-Key": key})

    def increment(self, client, key):
        change = {"count": {"__op": "Increment", "amount": 1}}
        client.call("PATCH", "storage/ChaosCount/one", change, headers={"Idempotency-Key": key})

    def file(self, client, key):
        client.call("PUT", f"upload/chaos/{key}", key.encode() * 100, headers={"Content-Type": "text/plain"})

    def read_back(self, client, path, key):
        """What was acknowledged must be there at once. An error proves nothing."""
        try:
            if client.call("GET", path).get("key") != key:
                self.violate(f"{path} has another value")
        except Failed as error:
            if error.args[0] == "404":
                self.violate(f"{path} was acknowledged and is not there")
            raise

    # --- analytics ---

    def event(self, client, key):
        now = datetime.datetime.now(datetime.timezone.utc).isoformat()
        message = {"type": "track", "event": "Chaos", "messageId": key, "timestamp": now, "properties": {"key": key}}
        if client.call("POST", "events", {"batch": [message]}, headers={"X-Device-Id": "chaos"}).get("rejected"):
            self.violate("an event was refused")

    def crash(self, client, key):
        app, id = client.app, key.replace("-", "")
        envelope = (
            f'{{"event_id":"{id}"}}\n{{"type":"event"}}\n{{"level":"error","exception":{{"values":[{{"type":"Chaos","value":"x"}}]}}}}\n')
        headers = {"X-Sentry-Auth": f"Sentry sentry_version=7, sentry_key={app['ingestKey']}"}
        client.request("POST", f"/crash/api/{app['appNumber']}/envelope/", envelope.encode(), headers)

    # --- auth, notifications, config ---

    def user(self, client, key):
        """Imports a user, because sign-ups from one address are limited. An existing user stays unchanged."""
        user = {"id": key, "userName": "u" + key.replace("-", ""), "profile": {"key": key}}
        if client.call("POST", "auth/users/import", {"users": [user]}, "masterKey")["refused"]:
            self.violate("a user was refused")
        client.call("GET", f"auth/users/{key}", key="masterKey")

    def installation(self, client, key):
        secret = (key + key).replace("-", "")[:43]
        client.call("PUT", f"installations/{key}", {"platform": "ios", "channels": ["chaos"]}, headers={"Installation-Secret": secret})

    def publication(self, client, key):
        """A version whose note is the key. Published twice, the same content makes one version."""
        flags = {"flags": {"key": {"type": "string", "default": key}}}
        try:
            client.call("PUT", "config/flags/default", flags, "masterKey", {"If-None-Match": "*"})
        except Failed as error:
            if error.args[0] != "412":
                raise
            client.call("PUT", "config/flags/default", flags, "masterKey", {"If-Match": "*"})
        client.call("POST", "config/flags/default/publish", {"note": key}, "masterKey")
        time.sleep(0.2)

    # --- the second app ---

    def neighbour(self, client, key):
        """Both apps have the same collection; neither may ever see the other's objects, nor use its tokens."""
        self.neighbours_object = "storage/Chaos/" + client.call("POST", "storage/Chaos", {"key": key, "of": "neighbour"})["_id"]
        self.acknowledge("neighbour", key)
        page = client.call("POST", "storage/query/Chaos?order=-created&limit=100", {})["data"]
        if any(item.get("of") != "neighbour" for item in page):
            self.violate("a list of the second app has an object of the first")
        for app, path in ((client.app, self.own_object), (self.server.apps[0], self.neighbours_object)):
            self.must_not_read(Client(app), path)
        if time.monotonic() > self.token_ends:
            self.token = {"Authorization": "Bearer " + client.call("POST", "auth/anonymous", {})["accessToken"]}
            self.token_ends = time.monotonic() + 600
        client.call("GET", "auth/me", headers=self.token)
        self.must_not_read(Client(self.server.apps[0]), "auth/me", self.token)

    def must_not_read(self, client, path, headers={}):
        if path is None:
            return
        try:
            answer = client.call("GET", path, headers=headers)
        except Failed:
            return
        finally:
            if client.connection:
                client.connection.close()
        self.violate(f"{path} was read by another app: {answer}")

    # --- control ---

    def violate(self, text):
        with self.lock:
            self.violations.append(text)

    def start(self):
        Client(self.server.apps[0]).call("POST", "storage/ChaosCount", {"_id": "one", "count": 0})
        for thread in self.threads:
            thread.start()

    def stop(self):
        """Ends when each client has the answer to its last request."""
        self.ending.set()
        for thread in self.threads:
            thread.join(LONGEST_HANG * 4)
            if thread.is_alive():
                self.violate("a client hangs")

    def recovery(self, since):
        """Seconds from `since` until each kind of request that was sent later has succeeded; None after a minute."""
        while time.monotonic() - since < RECOVERY_LIMIT:
            with self.lock:
                starts = list(self.last_success.values())
            if min(starts) > since:
                return time.monotonic() - since
            time.sleep(0.02)
        return None

    def take_pauses(self):
        """The longest time that each kind of request was without a success since the last call, as far as it has ended."""
        with self.lock:
            pauses, self.pauses = self.pauses, {}
            return pauses

    def counts(self):
        with self.lock:
            return self.answers, sum(self.errors.values())
