import Glibc

/// Starts a program, in `/tmp` and in a session of its own, without input or output.
///
/// Not Foundation's `Process`: it waits for every descendant, and `pg_ctl` leaves the server behind.
func spawn(_ path: String, _ arguments: [String]) throws -> pid_t {
    keepDescriptors()
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0)
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)

    let command = ["/usr/bin/env", "-C", "/tmp", "setsid", "-w", path] + arguments
    let strings = command.map { strdup($0) }
    defer { strings.forEach { free($0) } }
    var process = pid_t()
    let status = posix_spawn(&process, command[0], &actions, nil, strings + [nil], environ)
    guard status == 0 else { throw PostgresServerError(sentence: "cannot start \(path): error \(status)") }
    return process
}

/// Waits for the end of a process without holding a thread of Swift's pool; its exit status.
func exitStatus(of process: pid_t) async throws -> Int32 {
    var status: Int32 = 0
    while waitpid(process, &status, WNOHANG) == 0 { try await Task.sleep(for: .milliseconds(5)) }
    return status
}

/// A server that inherited a pipe of the test's runner would keep the runner waiting.
private func keepDescriptors() {
    for descriptor in Int32(3)..<256 where fcntl(descriptor, F_GETFD) >= 0 { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
}
