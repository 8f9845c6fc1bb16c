import Glibc

/// Kills and deletes the cluster in `directory` when this process has ended, in whatever way.
///
/// A shell that waits for the process: what `atexit` registers does not run after a crash.
func removeAtExit(_ directory: String) throws {
    let script = """
        while kill -0 "$1" 2>/dev/null; do sleep 0.2; done
        kill -QUIT "$(head -n 1 "$2/data/postmaster.pid")" 2>/dev/null
        sleep 0.2
        rm -rf "$2"
        """
    _ = try spawn("/bin/sh", ["-c", script, "sh", String(getpid()), directory])
}
