"""Kills copies of notifications by SIGKILL while they send a message to a simulated APNs, and says what arrived.

Arguments: the server's state folder, the folder of programs, devices, kills, seconds between two. Environment: DATABASE.

Two copies share the queue: the supervisor's, and one that is started here. One of them, drawn by lot, is killed every moment, as long as the message
is not over and kills are left; when it is over before, there were as many as it says. A message has 900 s. The message is pushed with an id and a collapse id that are the same each time it is sent. Exits with 1 when a device
got nothing, or its user would see more than one message. A second message that is to arrive at most once must not come twice to anybody.
"""

import json, os, random, signal, socket, subprocess, sys, time

state, programs, devices, kills, pause = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), float(sys.argv[5])
pick = random.Random(7)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def supervised():
    return int(open(f"{state}/run/notifications.pid").read())


class Second:
    def __init__(self):
        lines = open(f"/proc/{supervised()}/environ", "rb").read().decode().split("\0")
        self.environment = dict(line.split("=", 1) for line in lines if "=" in line)
        self.environment.pop("MARTLET_HTTP_SOCKET", None)
        self.log = open(f"{state}/log/second-notifications.log", "ab")
        self.start()

    def start(self):
        ports = {"MARTLET_HTTP_PORT": str(free_port()), "MARTLET_INTERNAL_PORT": str(free_port())}
        self.process = subprocess.Popen([f"{programs}/notifications"], env=self.environment | ports, stderr=self.log, stdout=self.log)

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.start()


def sql(text):
    for _ in range(100):
        done = subprocess.run(["psql", "-qAt", "-c", text, os.environ["DATABASE"]], capture_output=True, text=True)
        if done.returncode == 0:
            return done.stdout.strip()
        time.sleep(0.1)
    sys.exit(done.stderr)


def order(content):
    return sql(f"""
        WITH made AS (
            INSERT INTO notifications.messages (id, space, author, content, audience, state, is_planned, planned, expires)
            SELECT gen_random_uuid(), id, 'service', '{content}', '{{}}', 'sending', TRUE, {devices}, now() + interval '1 hour'
            FROM notifications.spaces LIMIT 1 RETURNING id, space), queued AS (
            INSERT INTO notifications.deliveries (message, installation, space, service)
            SELECT made.id, i.id, i.space, i.service FROM made JOIN notifications.installations AS i ON i.space = made.space AND i.is_sandbox),
        told AS (SELECT pg_notify('notifications_deliveries', ''))
        SELECT id FROM made, told""")


def seen():
    time.sleep(0.5)
    return json.load(open(f"{state}/simulator/seen.json"))


def send(content, kills):
    """Sends the message to every device and kills while it is under way."""
    message, start, killed = order(content), time.monotonic(), 0
    while sql(f"SELECT is_settled FROM notifications.messages WHERE id = '{message}'") != "t":
        time.sleep(pick.uniform(0.4, 1.6) * pause)
        if killed < kills:
            killed += 1
            try:
                second.kill() if pick.random() < 0.5 else os.kill(supervised(), signal.SIGKILL)
            except (ProcessLookupError, FileNotFoundError, ValueError):
                # The supervisor is about to start it again.
                killed -= 1
        if time.monotonic() - start > 900:
            sys.exit("not sent within 900 s")
    ends = sql(f"SELECT string_agg(state || coalesce(' (' || reason || ')', '') || ': ' || n, ', ') FROM (SELECT state, reason, count(*) AS n FROM notifications.deliveries WHERE message = '{message}' GROUP BY 1, 2) AS e")
    print(f"{killed} kills in {time.monotonic() - start:.0f} s; deliveries {ends}")
    return message


second = Second()
failed = False
try:
    print(f"\nkills while {devices} devices are sent a message, 2 copies, leases of 3 s")
    send('{"title":"Your bicycle was seen","body":"Somebody saw it near the station."}', kills)
    first = seen()
    twice = {int(times): count for times, count in first["arrivals"].items() if int(times) > 1}
    print(f"devices reached: {first['devices']} of {devices}; users see one message on {first['shown'].get('1', 0)} devices, more on {sum(n for k, n in first['shown'].items() if k != '1')}")
    print(f"second sends: {sum((times - 1) * count for times, count in twice.items())} (same apns-id and collapse id: {twice})")
    failed = first["devices"] != devices or first["shown"] != {"1": devices}
    print("\nthe same with atMostOnce")
    send('{"title":"Your bicycle was seen","body":"Somebody saw it near the station.","atMostOnce":true}', kills)
    # Each device has one push of the first message, and at most one of this message.
    after = {int(times): count for times, count in seen()["arrivals"].items()}
    more = {times: count - {int(t): c for t, c in first["arrivals"].items()}.get(times, 0) for times, count in after.items()}
    print(f"arrived once: {more.get(1, 0)}, more than once: {sum(n for times, n in more.items() if times > 1)}")
    failed = failed or any(count for times, count in more.items() if times > 1)
finally:
    second.process.kill()
sys.exit(1 if failed else 0)
