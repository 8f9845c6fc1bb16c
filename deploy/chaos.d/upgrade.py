"""deploy/test-upgrade runs this: it upgrades the package and goes back, under load. Argument: the machine's container."""
import json, subprocess, sys, time

from check import check
from load import Load
from server import Client, LONGEST_HANG, Server

SETTLE = 5  # seconds of load before and after each change
machine = sys.argv[1]


def podman(*arguments):
    """Runs podman and returns its output; ends the test if it fails."""
    done = subprocess.run(["podman", *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600)
    if done.returncode:
        sys.exit(f"podman {' '.join(arguments)} failed:\n{done.stdout[-4000:]}{done.stderr[-4000:]}")
    return done.stdout


def inside(*command):
    return podman("exec", "--env", "DEBIAN_FRONTEND=noninteractive", machine, *command)


class Machine(Server):
    """The server in the machine. Clients reach it over the machine's network."""

    def __init__(self):
        Client.host = podman("inspect", "--format", "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}", machine).strip()
        self.port = inside("sh", "-c", "pg_lsclusters -h | awk '$2 == \"martlet\" { print $3 }'").strip()
        self.connection = json.loads(inside("cat", "/var/lib/martlet/connection.json"))
        self.apps = [self.connection, self.create_app()]

    def create_app(self):
        url = 'env "$(grep ^MARTLET_DATABASE_URL= /etc/martlet/setup.env)"'
        return json.loads(inside("sh", "-c", f"{url} martlet app create --name Neighbour --json"))

    def sql(self, text):
        return inside("runuser", "-u", "postgres", "--", "psql", "-XAtq", "-p", self.port, "-d", "martlet", "-c", text).split()

    def version(self):
        return inside("dpkg-query", "--show", "--showformat", "${Version}", "martlet")


def main():
    server = Machine()
    server.open_apps()
    load = Load(server)
    bad = 0
    try:
        load.start()
        if load.recovery(time.monotonic()) is None:
            sys.exit(f"not every kind of request succeeds before the upgrade: {load.last_error}")
        time.sleep(SETTLE)
        bad += install(server, load, "Upgrade", "/root/new.deb")
        bad += install(server, load, "Back", "/root/martlet.deb")
    finally:
        load.stop()
        print("failed: " + ", ".join(f"{number} {what}" for what, number in load.errors.most_common()))
    bad += check(server, load) + len(load.violations) + (Client.longest > LONGEST_HANG)
    print("\n".join(load.violations[:10]))
    print(f"{bad} failures" if bad else "nothing lost, nothing duplicated, nothing read by another app")
    return bad > 0


def install(server, load, name, package):
    """Installs a package, waits until clients are served again, and prints how their requests fared in the meantime. Returns
    the number of failures."""
    before, (answers, errors), start = server.version(), load.counts(), time.monotonic()
    load.take_pauses()
    inside("apt-get", "install", "--yes", "-qq", "--allow-downgrades", package)
    seconds = time.monotonic() - start
    recovery = load.recovery(time.monotonic())
    time.sleep(SETTLE)
    pauses = load.take_pauses()
    answers, errors = (after - earlier for after, earlier in zip(load.counts(), (answers, errors)))
    kind, pause = max(pauses.items(), key=lambda one: one[1], default=("nothing", seconds + SETTLE))
    print(f"{name}: {before} to {server.version()}, apt-get took {seconds:.1f} s; {errors} of {answers} requests failed"
          f" ({errors / max(answers, 1):.1%}); the longest time without a success was {pause:.1f} s (of {kind})"
          + ("; NOT EVERY KIND OF REQUEST SUCCEEDS AGAIN" if recovery is None else ""), flush=True)
    return (recovery is None) + (server.version() == before)


if __name__ == "__main__":
    sys.exit(main())
