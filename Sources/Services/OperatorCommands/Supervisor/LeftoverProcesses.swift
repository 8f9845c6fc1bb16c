import Foundation
import Logging

/// Processes that an earlier supervisor left behind when it was killed.
///
/// They are stopped as a shutdown would stop them: first the gateway, which lets go of its clients, then the services,
/// at the same time, and PostgreSQL last. The other way round each would wait for one that is gone.
struct LeftoverProcesses {
    private static let patience: Duration = .seconds(10)

    /// The state folder, whose `run/<name>.pid` hold what was started.
    let state: URL
    let logger: Logger

    func stop() async throws {
        for names in [["gateway"], ServerPlan.serviceNames, ["postgres"]] {
            let processes = names.compactMap(running)
            for process in processes {
                logger.warning("Stopping a process that an earlier supervisor left.", metadata: ["process.name": "\(process.name)"])
                kill(process.pid, ChildProcess.stopSignal(of: process.name))
            }
            try await waitForEnd(of: processes.map(\.pid))
        }
    }

    private func running(_ name: String) -> (name: String, pid: pid_t)? {
        let file = state.appending(path: "run/\(name).pid")
        guard let text = try? String(contentsOf: file, encoding: .utf8), let pid = pid_t(text.dropLast()), pid > 1,
            // Another process may have the number today.
            let line = try? String(contentsOfFile: "/proc/\(pid)/cmdline", encoding: .utf8),
            line.split(separator: "\0").contains(where: { $0.hasSuffix("/\(name)") }),
            // Other PostgreSQL servers may run on the same machine; ours has folders by the state folder's path, or by its mark.
            name != "postgres" || line.contains(state.path + "/") || line.contains(Cluster.mark(of: state))
        else { return nil }
        return (name, pid)
    }

    private func waitForEnd(of pids: [pid_t]) async throws {
        let deadline = ContinuousClock.now + Self.patience
        while pids.contains(where: isAlive) {
            if .now > deadline { for pid in pids where isAlive(pid) { kill(pid, SIGKILL) } }
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    /// A zombie, which has ended but whose parent has not waited for it, is not alive.
    private func isAlive(_ pid: pid_t) -> Bool {
        guard kill(pid, 0) == 0 else { return false }
        guard let text = try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8) else { return false }
        return text.split(separator: ")").last?.split(separator: " ").first != "Z"
    }
}
