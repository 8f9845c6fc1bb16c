import Glibc

/// When this process ends for any reason, kills the processes that use `folders` and deletes the folders.
///
/// `cluster` is the data directory of the PostgreSQL server in these folders. `processes` are files with the ids of
/// other processes to kill, in this order. A shell waits for this process to end, because `atexit` handlers do not run
/// after a crash.
public func removeAtExit(_ folders: [String], cluster: String, processes: [String] = []) throws {
    _ = try spawn(
        "/bin/sh", ["-c", script, "sh", String(getpid()), cluster, processes.joined(separator: " ")] + folders)
}

/// Zombies do not count as running, because in a container without an init nothing reaps orphans. After QUIT a
/// postmaster ends within five seconds unless it hangs; until then it writes files that would interfere with the
/// deletion.
private let script = """
    trap '' HUP INT TERM
    runs() { [ -n "$1" ] && grep -q -s ') [^ZX] ' "/proc/$1/stat"; }
    first() { head -n 1 "$1" 2>/dev/null; }
    while runs "$1"; do sleep 0.2; done
    for file in $3; do kill -KILL "$(first "$file")" 2>/dev/null; done
    postmaster=$(first "$2/postmaster.pid")
    shift 3
    for signal in QUIT KILL; do
        runs "$postmaster" && kill "-$signal" "$postmaster"
        for _ in $(seq 100); do runs "$postmaster" && sleep 0.1; done
    done
    for _ in 1 2 3; do rm -rf "$@" && break; sleep 1; done
    """
