"""deploy/chaos runs this inside its namespaces. Arguments: an empty folder, the folder of programs, the number of kills."""
import collections, os, signal, statistics, sys, time

import faults
from check import check
from load import Load
from server import Client, LONGEST_HANG, Server

TARGETS = [*faults.PROCESSES, "backend"]
# A supervisor gives up on a process that dies five times, each within ten seconds of its start: a round of all targets
# must take longer.
SETTLE = 1.0
folder, programs, kills = sys.argv[1], os.path.abspath(sys.argv[2]), int(sys.argv[3])


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))
    server = Server(folder, programs)
    server.open_apps()
    load = Load(server)
    bad, begin = 0, time.monotonic()
    try:
        load.start()
        if load.recovery(time.monotonic()) is None:
            raise SystemExit(f"not every kind of request succeeds before the first fault: {load.last_error}")
        only = os.environ.get("CHAOS_ONLY", "")
        bad += kill_in_turn(server, load)
        if only != "kills":
            for name, action in faults.all_once(server):
                if only not in name:
                    continue
                report = cause_fault(load, action)
                bad += report.recovery is None
                print(f"{name:48} {line([report])}")
        print(f"connections of PostgreSQL: {', '.join(connections(server))}")
    finally:
        load.stop()
        print(f"\n{load.answers} requests in {time.monotonic() - begin:.0f} s; the longest took {Client.longest:.1f} s")
        print("failed: " + ", ".join(f"{number} {what}" for what, number in load.errors.most_common()))
    bad += check(server, load) + len(load.violations) + (Client.longest > LONGEST_HANG)
    print("\n".join(load.violations[:10]))
    server.stop()
    print(f"{bad} failures" if bad else "nothing lost, nothing duplicated, nothing read by another app")
    return bad > 0


def connections(server):
    return server.sql("SELECT usename || '=' || count(*) FROM pg_stat_activity WHERE usename LIKE 'martlet_%' GROUP BY usename ORDER BY 1")


Report = collections.namedtuple("Report", "recovery answers errors")


def cause_fault(load, action):
    """Causes one fault and waits until every kind of request succeeds again, a minute at most."""
    answers, errors = load.counts()
    action()
    recovery = load.recovery(time.monotonic())
    time.sleep(SETTLE)
    answers, errors = (after - before for after, before in zip(load.counts(), (answers, errors)))
    return Report(recovery, answers, errors)


def kill_in_turn(server, load):
    reports = collections.defaultdict(list)
    for number in range(kills):
        name = TARGETS[number % len(TARGETS)]
        reports[name].append(cause_fault(load, lambda: faults.kill(server, name)))
        if kills > 50 and number % 50 == 49:
            print(f"{number + 1} kills", flush=True)
    for name, those in reports.items():
        print(f"{name + f': SIGKILL, {len(those)} times':48} {line(those)}", flush=True)
    return sum(report.recovery is None for those in reports.values() for report in those)


def line(reports):
    times = [60 if report.recovery is None else report.recovery for report in reports]
    answers, errors = (sum(report[index] for report in reports) for index in (1, 2))
    spread = f"{statistics.median(times):4.1f}, at most {max(times):4.1f} s" if len(times) > 1 else f"{times[0]:4.1f} s"
    failed = f"{errors} of {answers} requests failed ({errors / max(answers, 1):.1%})"
    return ("NOT WITHIN A MINUTE " if None in [report.recovery for report in reports] else "") + f"works again after {spread}; {failed}"


if __name__ == "__main__":
    sys.exit(main())
