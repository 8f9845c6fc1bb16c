"""deploy/test-failover runs this inside its namespaces. Arguments: an empty folder, the folder of programs."""
import collections, json, os, pathlib, signal, subprocess, sys, time, urllib.error, urllib.request

from check import check
from load import Load
from server import Client, LONGEST_HANG, SERVICES, Server, root

NODES = ["node1", "node2", "node3"]
ADDRESSES = {name: f"10.77.0.{number}" for number, name in enumerate(NODES, 1)}
PASSWORD = "failover"
folder, programs, kills = pathlib.Path(sys.argv[1]), os.path.abspath(sys.argv[2]), int(os.environ.get("FAILOVER_KILLS", "3"))


def run(*command, **options):
    return subprocess.run([str(part) for part in command], check=True, **options)


class Cluster:
    """Three machines, each a network namespace on one bridge, with etcd, Patroni and PostgreSQL on it; HAProxy beside Martlet."""

    def __init__(self):
        run("ip", "link", "add", "bridge", "type", "bridge")
        run("ip", "address", "add", "10.77.0.254/24", "dev", "bridge")
        run("ip", "link", "set", "bridge", "up")
        for name in NODES:
            self.make_machine(name)
        for name in NODES:
            self.start(name)
        self.spawn("haproxy", ["haproxy", "-db", "-f", self.write("haproxy.cfg", folder / "haproxy.cfg", "node1")])

    def make_machine(self, name):
        run("ip", "netns", "add", name)
        run("ip", "link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", name)
        run("ip", "link", "set", name, "master", "bridge", "up")
        for command in (f"address add {ADDRESSES[name]}/24 dev eth0", "link set eth0 up", "link set lo up"):
            run("ip", "-n", name, *command.split())
        home = folder / name
        home.mkdir()
        run("chown", "postgres", home)
        for file in ("etcd.yml", "patroni.yml"):
            self.write(file, home / file, name)

    def write(self, file, target, name):
        """Writes a file of deploy/cluster for one node, with separate folders, because three nodes share this machine."""
        text = (root / "deploy/cluster" / file).read_text()
        for number, address in enumerate(ADDRESSES.values(), 1):
            text = text.replace(f"ADDRESS{number}", address)
        for old, new in {
            "ADDRESS": ADDRESSES[name], "NODE": name, "PASSWORD": PASSWORD, "/var/run/postgresql": f"{folder}/{name}",
            "/var/lib/postgresql/15/martlet": f"{folder}/{name}/data", "/var/lib/etcd/martlet": f"{folder}/{name}/etcd",
        }.items():
            text = text.replace(old, new)
        target.write_text(text)
        return target

    def spawn(self, log, command, name=None):
        inside = ["ip", "netns", "exec", name] if name else []
        user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups"] if name else []
        environment = dict(os.environ, HOME=str(folder / name) if name else "/")
        with open(folder / f"{log}.log", "ab") as file:
            return subprocess.Popen([*inside, *user, *map(str, command)], stdout=file, stderr=file, cwd="/", env=environment)

    def start(self, name):
        """Starts the node's programs, as systemd does at boot."""
        home = folder / name
        self.spawn(f"etcd-{name}", ["etcd", "--config-file", home / "etcd.yml"], name)
        self.spawn(f"patroni-{name}", ["patroni", home / "patroni.yml"], name)

    def kill(self, name):
        """Kills everything that runs on the machine by SIGKILL."""
        for _ in range(3):
            pids = run("ip", "netns", "pids", name, stdout=subprocess.PIPE, text=True).stdout.split()
            for pid in pids:
                try:
                    os.kill(int(pid), signal.SIGKILL)
                except ProcessLookupError:
                    pass
            time.sleep(0.1)

    def link(self, name, state):
        run("ip", "link", "set", name, state)

    def members(self):
        """The state of every node, from the first node that answers."""
        for name in NODES:
            try:
                with urllib.request.urlopen(f"http://{ADDRESSES[name]}:8008/cluster", timeout=1) as answer:
                    return {member["name"]: member for member in json.load(answer)["members"]}
            except OSError:
                continue
        return {}

    def primary(self):
        leaders = [name for name, member in self.members().items() if member["role"] == "leader"]
        return leaders[0] if leaders else None

    def wait_until_whole(self, limit=120):
        """Waits until there are a primary, a synchronous standby and a third node that streams; returns the seconds."""
        start = time.monotonic()
        while time.monotonic() - start < limit:
            members = self.members()
            roles = sorted(member["role"] for member in members.values() if member["state"] in ("running", "streaming"))
            if roles == ["leader", "replica", "sync_standby"] and len({m.get("timeline") for m in members.values()}) == 1:
                return time.monotonic() - start
            time.sleep(0.5)
        for log in sorted(folder.glob("*.log")):
            print(f"--- {log.name}\n{log.read_text()[-1500:]}")
        sys.exit(f"the cluster is not complete after {limit} s: {self.members()}")

    def switch_over(self):
        """A planned switchover, as soon as Patroni accepts the standby as the next primary."""
        primary, deadline = self.primary(), time.monotonic() + 30
        body = json.dumps({"leader": primary}).encode()
        request = urllib.request.Request(f"http://{ADDRESSES[primary]}:8008/switchover", body, {"Content-Type": "application/json"})
        while True:
            try:
                return urllib.request.urlopen(request, timeout=30).read()
            except urllib.error.HTTPError as error:
                if time.monotonic() > deadline:
                    sys.exit(f"the switchover was refused: {error.read()}")
                time.sleep(1)


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))
    cluster = Cluster()
    print(f"the cluster is complete after {cluster.wait_until_whole():.0f} s; the primary is {cluster.primary()}")
    superuser = f"postgresql://postgres:{PASSWORD}@127.0.0.1:5000"
    run("psql", "-XAtqc", "CREATE DATABASE martlet", f"{superuser}/postgres")
    server = Server(folder, programs, {"MARTLET_DATABASE_URL": f"{superuser}/martlet"})
    server.open_apps()
    load = Load(server)
    bad = 0
    try:
        load.start()
        if load.recovery(time.monotonic()) is None:
            sys.exit(f"not every kind of request succeeds: {dict(load.errors)}, {load.last_error}")
        for _ in range(kills):
            bad += fail_over(cluster, load, "killed", cluster.kill, cluster.start)
        bad += fail_over(cluster, load, "cut off", lambda name: cluster.link(name, "down"), lambda name: cluster.link(name, "up"))
        bad += fail_over(cluster, load, "switched over as planned", lambda name: cluster.switch_over(), lambda name: None)
        connect_by_list(server)
        if load.recovery(time.monotonic()) is None:
            sys.exit(f"not every kind of request succeeds with a list of hosts: {load.last_error}")
        bad += fail_over(cluster, load, "killed (list of hosts, no HAProxy)", cluster.kill, cluster.start)
    finally:
        load.stop()
        print(f"\n{load.answers} requests; the longest took {Client.longest:.1f} s")
        print("failed: " + ", ".join(f"{number} {what}" for what, number in load.errors.most_common()))
    bad += check(server, load) + len(load.violations) + (Client.longest > LONGEST_HANG)
    print("\n".join(load.violations[:10]))
    print("causes of 500: ", causes_of_500(server).most_common(8))
    server.stop()
    print(f"{bad} failures" if bad else "nothing lost, nothing duplicated, nothing read by another app")
    return bad > 0


def fail_over(cluster, load, what, fail, repair):
    """Makes the primary fail and waits until another one serves every kind of request; then repairs it."""
    old, (answers, errors), start = cluster.primary(), load.counts(), time.monotonic()
    fail(old)
    # A handover ends only when the new primary serves, so requests that succeed before that prove nothing.
    served = load.recovery(time.monotonic())
    recovery = None if served is None else time.monotonic() - start
    new = cluster.primary()
    answers, errors = (after - before for after, before in zip(load.counts(), (answers, errors)))
    repair(old)
    whole = cluster.wait_until_whole()
    said = "NOT within a minute" if recovery is None else f"after {recovery:4.1f} s"
    print(f"{old} {what}: every kind of request works again {said}, on {new}; {errors} of {answers} failed; "
          f"{old} is a standby again {whole:.0f} s later")
    return recovery is None or new is None or old == new


def causes_of_500(server):
    """Counts the causes of answers with 500, from the logs, for developers: a client cannot see them."""
    causes = collections.Counter()
    for log in (server.state / "log").glob("*.log"):
        for line in log.read_text(errors="replace").splitlines():
            if '"http.status":500' in line and line.startswith("{"):
                causes[json.loads(line).get("error.cause", "")[:120]] += 1
    return causes


def connect_by_list(server):
    """The services find the primary by themselves, by libpq's list of hosts."""
    server.stop()
    passwords = json.loads((server.state / "secrets.json").read_text())["servicePasswords"]
    hosts = ",".join(f"{address}:5432" for address in ADDRESSES.values())
    options = "target_session_attrs=read-write&connect_timeout=2&tcp_user_timeout=10000"
    for name in SERVICES:
        server.settings[f"MARTLET_{name.upper()}_DATABASE_URL"] = (
            f"postgresql://martlet_{name}:{passwords[name]}@{hosts}/martlet?{options}")
    server.start()


if __name__ == "__main__":
    sys.exit(main())
