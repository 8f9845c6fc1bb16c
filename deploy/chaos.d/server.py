"""The server in which faults are caused: its processes, and a client of it. Ports are fixed, as the network is ours alone."""
import http.client, json, os, pathlib, subprocess, sys, time

SERVICES = {"auth": 8201, "storage": 8202, "config": 8203, "analytics": 8204, "notifications": 8205}
PORT = 8080
LONGEST_HANG = 30  # seconds
root = pathlib.Path(__file__).resolve().parent.parent.parent


class Server:
    def __init__(self, folder, programs, settings={}):
        self.folder, self.programs, self.state = pathlib.Path(folder), pathlib.Path(programs), pathlib.Path(folder) / "state"
        # The file that makes the disk slow while it exists; None without the library that does so.
        library = os.environ.get("CHAOS_SLOW_DISK_LIBRARY")
        self.slow_disk = self.folder / "slow-disk" if library else None
        self.settings = dict(settings)
        if library:
            self.settings.update(LD_PRELOAD=library, CHAOS_SLOW_DISK=str(self.slow_disk))
        self.log = open(self.folder / "up.log", "ab")
        self.start()
        self.apps = [self.connection, self.create_app()]

    def start(self):
        environment = dict(os.environ, MARTLET_PORT=str(PORT), **self.settings)
        for name, port in SERVICES.items():
            # Services are reached by TCP, so that packets can be dropped. PostgreSQL is reached through its Unix socket, as usual.
            environment[f"MARTLET_{name.upper()}_HTTP_PORT"] = str(port)
            environment[f"MARTLET_GATEWAY_UPSTREAM_{name.upper()}"] = f"127.0.0.1:{port}"
        (self.state / "run/ready").unlink(missing_ok=True)
        routes = root / "gateway/routes.json"
        self.process = subprocess.Popen(
            [self.programs / "martlet", "up", "--state", self.state, "--programs", self.programs, "--routes", routes],
            env=environment, stdout=self.log, stderr=self.log)
        deadline = time.monotonic() + 120
        while not (self.state / "run/ready").exists():
            if self.process.poll() is not None or time.monotonic() > deadline:
                sys.exit("the server did not start:\n" + (self.folder / "up.log").read_text()[-4000:])
            time.sleep(0.1)
        # PostgreSQL gets a new port at each start.
        self.connection = json.loads((self.state / "connection.json").read_text())

    def create_app(self):
        environment = dict(os.environ, MARTLET_DATABASE_URL=self.connection["databaseURL"])
        command = [self.programs / "martlet", "app", "create", "--name", "Neighbour", "--json"]
        return json.loads(subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE).stdout)

    def open_apps(self):
        """Apps are closed to clients at first. The gateway learns of a new one within a second or so."""
        for app in self.apps:
            for attempt in range(100):
                try:
                    Client(app).call("PUT", "rules/settings", {"access": "open"}, key="masterKey")
                    break
                except Failed:
                    time.sleep(0.1)

    def pid(self, name):
        return int((self.state / f"run/{name}.pid").read_text())

    def tree(self, name):
        """A process and its children: for PostgreSQL, all its server processes."""
        pid = self.pid(name)
        return [pid, *map(int, pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split())]

    def sql(self, text):
        """The rows' first column."""
        command = ["psql", "-XAtq", self.connection["databaseURL"], "-c", text]
        return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.split()

    def stop(self):
        self.process.terminate()
        self.process.wait(100)


class Failed(Exception):
    """Any answer but 2xx, or none: args[0] is the status or what happened instead."""


class Client:
    """One client of one app, with one connection."""

    host = "127.0.0.1"
    longest = 0.0  # duration of the longest call of any client, in seconds

    def __init__(self, app):
        self.app, self.connection = app, None

    def call(self, method, path, body=None, key="secret", headers={}):
        name = {"secret": "X-Martlet-Secret", "masterKey": "X-Martlet-Master-Key"}[key]
        return self.request(method, f"/api/{self.app['appKey']}/{path}", body, {name: self.app[key], **headers})

    def request(self, method, path, body=None, headers={}):
        if not isinstance(body, (bytes, type(None))):
            body = json.dumps(body).encode()
        start = time.monotonic()
        try:
            if self.connection is None:
                self.connection = http.client.HTTPConnection(self.host, PORT, timeout=LONGEST_HANG)
            self.connection.request(method, path, body, {"Content-Type": "application/json", **headers})
            response = self.connection.getresponse()
            answer = response.read()
        except (OSError, http.client.HTTPException) as error:
            self.connection = None
            raise Failed("timeout" if isinstance(error, TimeoutError) else "no answer")
        finally:
            Client.longest = max(Client.longest, time.monotonic() - start)
        if response.status >= 300:
            raise Failed(str(response.status), answer[:300])
        return json.loads(answer) if answer[:1] in (b"{", b"[") else answer
