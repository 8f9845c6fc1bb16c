import Foundation
import Glibc

/// Runs PostgreSQL's programs. They refuse to run as root, so root runs them as the user `postgres`.
struct PostgresCommand: Sendable {
    private let binaries: String
    private let isRoot = getuid() == 0

    init() throws {
        let root = "/usr/lib/postgresql"
        let versions = (try? FileManager.default.contentsOfDirectory(atPath: root)) ?? []
        let folders = versions.sorted { $0.compare($1, options: .numeric) == .orderedDescending }.map {
            "\(root)/\($0)/bin"
        }
        let candidates =
            folders + (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map(String.init)
        guard let binaries = candidates.first(where: { FileManager.default.isExecutableFile(atPath: "\($0)/initdb") })
        else {
            throw PostgresServerError(sentence: "PostgreSQL is not installed")
        }
        self.binaries = binaries
    }

    func run(_ program: String, _ arguments: [String]) async throws {
        let path = "\(binaries)/\(program)"
        let process =
            isRoot
            ? try spawn("/usr/sbin/runuser", ["-u", "postgres", "--", path] + arguments) : try spawn(path, arguments)
        let status = try await exitStatus(of: process)
        guard status == 0 else { throw PostgresServerError(sentence: "\(program) failed with status \(status)") }
    }

    func giveToServer(_ path: String) throws {
        chmod(path, 0o700)
        guard isRoot else { return }
        guard let user = getpwnam("postgres"), chown(path, user.pointee.pw_uid, user.pointee.pw_gid) == 0 else {
            throw PostgresServerError(sentence: "the user postgres, needed to run PostgreSQL, does not exist")
        }
    }
}
