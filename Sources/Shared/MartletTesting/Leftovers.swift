import Glibc

/// Ends what runs in `folders` and deletes them when this process has ended, in whatever way.
///
/// `cluster` is the data directory of their PostgreSQL, `processes` are files with the ids of what else runs there, to be killed
/// in this order. A shell that waits for the process: what `atexit` registers does not run after a crash.
public func removeAtExit(_ folders: [String], cluster: String, processes: [String] = []) throws {
    _ = try spawn("/bin/sh", ["-c", script, "sh", String(getpid()), cluster, processes.joined(separator: " ")] + folders)
}

/// A zombie does not run: in a container without an init nobody buries the orphans. A postmaster that is told to QUIT ends within
/// five seconds unless it hangs, and until then writes files that would hinder the deletion.
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
