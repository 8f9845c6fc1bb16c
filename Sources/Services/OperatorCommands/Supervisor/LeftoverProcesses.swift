import Foundation
import Logging

/// Processes left behind by an earlier supervisor that was killed.
///
/// They are stopped in the order of a shutdown: first the gateway, which disconnects its clients, then all services at
/// once, and PostgreSQL last. In the reverse order, each process would wait for a process that has already ended.
struct LeftoverProcesses {
    private static let timeout: Duration = .seconds(10)

    /// The state folder, whose `run/<name>.pid` files list the started processes.
    let state: URL
    let logger: Logger

    func stop() async throws {
        let files = (try? FileManager.default.contentsOfDirectory(atPath: state.appending(path: "run").path)) ?? []
        // The earlier supervisor may have run more copies than this one.
        let names = files.filter { $0.hasSuffix(".pid") }.map { String($0.dropLast(4)) }.sorted()
        for programs in [["gateway"], ServerPlan.serviceNames, ["postgres"]] {
            let processes = names.filter { programs.contains(ServerPlan.program(of: $0)) }.compactMap(running)
            for process in processes {
                logger.warning(
                    "Stopping a process left behind by an earlier supervisor.",
                    metadata: ["process.name": "\(process.name)"])
                kill(process.pid, ChildProcess.stopSignal(of: process.name))
            }
            try await waitForEnd(of: processes.map(\.pid))
        }
    }

    private func running(_ name: String) -> (name: String, pid: pid_t)? {
        let file = state.appending(path: "run/\(name).pid")
        guard let text = try? String(contentsOf: file, encoding: .utf8), let pid = pid_t(text.dropLast()), pid > 1,
            // Another process may have the same id by now.
            let line = try? String(contentsOfFile: "/proc/\(pid)/cmdline", encoding: .utf8),
            line.split(separator: "\0").contains(where: { $0.hasSuffix("/" + ServerPlan.program(of: name)) }),
            // Other PostgreSQL servers may run on the same machine. The server of this state folder has the folder's
            // path or mark in its command line.
            name != "postgres" || line.contains(state.path + "/") || line.contains(Cluster.mark(of: state))
        else { return nil }
        return (name, pid)
    }

    private func waitForEnd(of pids: [pid_t]) async throws {
        let deadline = ContinuousClock.now + Self.timeout
        while pids.contains(where: isAlive) {
            if .now > deadline { for pid in pids where isAlive(pid) { kill(pid, SIGKILL) } }
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    /// Whether the process is running. A zombie, which has ended but was not waited for, is not.
    private func isAlive(_ pid: pid_t) -> Bool {
        guard kill(pid, 0) == 0 else { return false }
        guard let text = try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8) else { return false }
        return text.split(separator: ")").last?.split(separator: " ").first != "Z"
    }
}
