import Glibc

/// Starts a program in `/tmp`, in a new session and without input or output.
///
/// Foundation's `Process` is unsuitable: it waits for all descendants, and `pg_ctl` leaves the server running.
func spawn(_ path: String, _ arguments: [String]) throws -> pid_t {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0)
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
    // A server that inherited the test runner's pipe would keep the runner waiting, and an inherited connection would
    // stay open.
    _ = closeFrom?(&actions, 3)

    let command = ["/usr/bin/env", "-C", "/tmp", "setsid", "-w", path] + arguments
    let strings = command.map { strdup($0) }
    defer { strings.forEach { free($0) } }
    var process = pid_t()
    let status = posix_spawn(&process, command[0], &actions, nil, strings + [nil], environ)
    guard status == 0 else { throw PostgresServerError(sentence: "cannot start \(path): error \(status)") }
    return process
}

/// Waits for a process to end without blocking a thread of Swift's pool; returns its exit status.
func exitStatus(of process: pid_t) async throws -> Int32 {
    var status: Int32 = 0
    while waitpid(process, &status, WNOHANG) == 0 { try await Task.sleep(for: .milliseconds(5)) }
    return status
}

private typealias CloseFrom = @convention(c) (UnsafeMutablePointer<posix_spawn_file_actions_t>, Int32) -> Int32

/// `posix_spawn_file_actions_addclosefrom_np`, which the module map hides behind `_GNU_SOURCE`.
private let closeFrom: CloseFrom? = dlsym(nil, "posix_spawn_file_actions_addclosefrom_np").map {
    unsafeBitCast($0, to: CloseFrom.self)
}
