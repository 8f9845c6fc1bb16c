"""The kinds of faults. Each is a function that causes the fault and removes it. The time to recover begins when it returns."""
import os, pathlib, random, resource, signal, subprocess, time

from relay import delayed
from server import PORT, SERVICES

PROCESSES = ["gateway", *SERVICES, "postgres"]
PAUSE = 3  # seconds that a process stands still, or a link is dead
DELAYED = 8  # seconds for which packets are delayed, or the disk is slow
pick = random.Random(23)


def kill(server, name):
    """SIGKILL: of a process of the server, or, as `backend`, of one that PostgreSQL has started for a connection."""
    if name == "backend":
        pid = pick.choice(backends(server) or [server.pid("postgres")])
    else:
        pid = server.pid(name)
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass  # It had just ended by itself.


def backends(server):
    def is_backend(pid):
        try:
            return "martlet" in pathlib.Path(f"/proc/{pid}/cmdline").read_text()
        except FileNotFoundError:
            return False
    return [pid for pid in server.tree("postgres")[1:] if is_backend(pid)]


def stop(server, name):
    """SIGSTOP for three seconds; of PostgreSQL all processes."""
    pids = server.tree(name)
    for number in (signal.SIGSTOP, signal.SIGCONT):
        for pid in pids:
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass
        if number == signal.SIGSTOP:
            time.sleep(PAUSE)


def restart_postgres(server, number):
    os.kill(server.pid("postgres"), number)


def lack_files(server, name):
    """For four seconds the process may open no more files, sockets included."""
    pid = server.pid(name)
    before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (len(os.listdir(f"/proc/{pid}/fd")), before[1]))
    time.sleep(4)
    if server.pid(name) == pid:
        resource.prlimit(pid, resource.RLIMIT_NOFILE, before)


def lack_memory(server, name):
    """For four seconds the process may use at most 1 MiB more memory than before."""
    pid = server.pid(name)
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    size = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmData:")) * 1024
    before = resource.prlimit(pid, resource.RLIMIT_DATA)
    resource.prlimit(pid, resource.RLIMIT_DATA, (size + (1 << 20), before[1]))
    time.sleep(4)
    try:
        if server.pid(name) == pid:
            resource.prlimit(pid, resource.RLIMIT_DATA, before)
    except ProcessLookupError:
        pass  # The process died of the lack of memory and has not been restarted yet.


def delay_packets(port):
    """What is sent to and from a port arrives 0.1 to 0.3 s later. Existing connections are reset, so that new ones are made."""
    with delayed(port):
        time.sleep(DELAYED)


def slow_disk(server):
    """Each flush of a file takes half a second longer: of PostgreSQL's WAL, and of files and spools of services."""
    server.slow_disk.touch()
    try:
        time.sleep(DELAYED)
    finally:
        server.slow_disk.unlink()


def fill_disk(server):
    """Fills the disk that everything is on for five seconds."""
    filler = server.folder / "filler"
    try:
        with open(filler, "wb", buffering=0) as file:
            size, end = 1 << 24, None
            while end is None or time.monotonic() < end:
                try:
                    file.write(bytes(size))
                except OSError:
                    # The disk is full. Use up what others free meanwhile, too.
                    size = max(size // 16, 1)
                    if size == 1:
                        end = end or time.monotonic() + 5
                        time.sleep(0.01)
    finally:
        filler.unlink()


def drop_packets(port, share):
    """Drops this share of the packets to and from a port. New connections and old ones suffer alike."""
    def rule(action, direction):
        chance = [] if share == 1 else ["-m", "statistic", "--mode", "random", "--probability", str(share)]
        command = ["iptables", "--wait", action, "INPUT", "-p", "tcp", direction, str(port), *chance, "-j", "DROP"]
        subprocess.run(command, check=True)
    try:
        for direction in ("--dport", "--sport"):
            rule("-A", direction)
        time.sleep(PAUSE if share == 1 else 2 * PAUSE)
    finally:
        for direction in ("--dport", "--sport"):
            rule("-D", direction)


def kill_supervisor(server):
    """Kills `martlet up`, whose processes keep running; the next `martlet up` replaces them all."""
    server.process.kill()
    server.process.wait()
    time.sleep(1)
    server.start()


def all_once(server):
    """Every fault but SIGKILL of one process, as (name, action)."""
    for name in PROCESSES:
        yield f"{name}: SIGSTOP for {PAUSE} s", lambda: stop(server, name)
    yield "postgres: fast restart", lambda: restart_postgres(server, signal.SIGINT)
    yield "postgres: immediate restart", lambda: restart_postgres(server, signal.SIGQUIT)
    for name in ["gateway", *SERVICES]:
        yield f"{name}: no descriptor left for 4 s", lambda: lack_files(server, name)
    for name, port in [*SERVICES.items(), ("gateway", PORT)]:
        yield f"{name}: every packet lost for {PAUSE} s", lambda: drop_packets(port, 1)
        yield f"{name}: 20 % of packets lost for {2 * PAUSE} s", lambda: drop_packets(port, 0.2)
    for name, port in [*SERVICES.items(), ("gateway", PORT)]:
        yield f"{name}: packets 0.1 to 0.3 s late for {DELAYED} s", lambda: delay_packets(port)
    for name in ["gateway", *SERVICES]:
        yield f"{name}: no more memory for 4 s", lambda: lack_memory(server, name)
    if server.slow_disk:
        yield f"everything: each flush takes 0.5 s longer for {DELAYED} s", lambda: slow_disk(server)
    yield "everything: disk full for 5 s", lambda: fill_disk(server)
    yield "supervisor: SIGKILL, then a new one", lambda: kill_supervisor(server)
