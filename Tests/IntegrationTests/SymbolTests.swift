import Foundation
import MartletAPI
import Testing

extension IntegrationTests {
    /// Debug symbols, through the gateway.
    @Suite(.localServer)
    struct SymbolTests {
        static let program = ProcessInfo.processInfo.environment["MARTLET_TEST_PYTHON"].map {
            URL(filePath: $0).deletingLastPathComponent().appending(path: "sentry-cli").path
        }
        static let debugFile =
            (ProcessInfo.processInfo.environment["MARTLET_VECTORS"] ?? "../shared/vectors")
            + "/sentry/macos-crash.dSYM.macho"
        static let canRun =
            program.map(FileManager.default.isExecutableFile(atPath:)) == true
            && FileManager.default.fileExists(atPath: debugFile)

        let server: LocalServer

        init() throws {
            server = try .current
        }

        /// Runs `sentry-cli` like a build would.
        private func sentry(_ arguments: String..., key: String? = nil, project: String) async throws -> (
            status: Int, output: String
        ) {
            try await sentry(arguments, key: key, project: project)
        }

        private func sentry(
            _ arguments: [String], key: String? = nil, variables: [String: String] = [:], project: String
        ) async throws -> (status: Int, output: String) {
            let name = "sentry-cli-\(UInt32.random(in: 0 ... .max))"
            let (output, errors) = (
                server.folder.appending(path: name + ".out"), server.folder.appending(path: name + ".err")
            )
            let program = try RunningProgram.start(
                [try #require(Self.program)] + arguments,
                environment: [
                    "PATH": "/usr/bin:/bin", "HOME": server.folder.path, "SENTRY_URL": server.connection.url + "/",
                    "SENTRY_AUTH_TOKEN": key ?? server.connection.masterKey, "SENTRY_ORG": "any",
                    "SENTRY_PROJECT": project,
                ].merging(variables) { $1 }, output: output, errors: errors)
            let status = try await program.exitStatus(limit: .seconds(120))
            return (
                status, try String(contentsOf: output, encoding: .utf8) + String(contentsOf: errors, encoding: .utf8)
            )
        }

        @Test(.enabled(if: canRun)) func `an unmodified sentry-cli uploads a dSYM, and only once`() async throws {
            let project = server.connection.sentryDSN.split(separator: "/").last.map(String.init) ?? ""
            let info = try await sentry("info", project: project)
            #expect(info.status == 0 && info.output.contains(server.connection.url), "\(info)")

            let first = try await sentry("debug-files", "upload", "--wait", Self.debugFile, project: project)
            #expect(first.status == 0, "\(first)")
            #expect(first.output.contains("Uploaded 1 missing debug information file"), "\(first)")
            #expect(first.output.contains("OK 67e9247c-814e-392b-a027-dbde6748fcbf"), "\(first)")
            let second = try await sentry(
                "debug-files", "upload", "--wait", Self.debugFile, project: server.connection.appId)
            #expect(second.status == 0 && second.output.contains("Nothing to upload"), "\(second)")

            let list = try await Client.master(server.connection).get(
                "crashes/symbols?debugId=67e9247c-814e-392b-a027-dbde6748fcbf")
            #expect(list["count"] == "1" && list["data.0.state"] == "\"ok\"", "\(list)")
            let id = try #require(list.string("data.0.id"))
            let address = "\(server.connection.url)/api/\(server.connection.appKey)/crashes/symbols/\(id)"
            let deleted = try await Client.send(
                "DELETE", address, headers: [HeaderName.masterKey: server.connection.masterKey])
            #expect(deleted.status == 204, "\(deleted)")
        }

        @Test(.enabled(if: canRun)) func `sentry-cli gets an error when the key or the project is wrong`() async throws
        {
            let wrongKey = try await sentry(
                "debug-files", "upload", Self.debugFile, key: server.connection.secret, project: "1")
            #expect(wrongKey.status != 0 && wrongKey.output.contains("401"), "\(wrongKey)")
            let wrongProject = try await sentry("debug-files", "upload", Self.debugFile, project: "999999")
            #expect(wrongProject.status != 0 && wrongProject.output.contains("Project not found"), "\(wrongProject)")
        }

        @Test(.enabled(if: canRun))
        func `sentry-cli shows releases, deploys and issues, and reports unsupported operations`() async throws {
            let (project, version) = (server.connection.appId, "cli@1.0+\(UInt32.random(in: 0 ... .max))")
            for (arguments, words) in [
                (["organizations", "list"], "martlet"), (["projects", "list"], server.connection.appId),
                (["releases", "new", version], "Created release"),
                (["releases", "list"], version), (["deploys", "new", "-r", version, "-e", "production"], "production"),
                (["deploys", "list", "-r", version], "production"),
                (["releases", "finalize", version], "Finalized release"),
                (["releases", "info", version], version), (["issues", "list"], ""), (["events", "list"], ""),
                (["releases", "delete", version], "Deleted release"),
            ] {
                let answer = try await sentry(arguments, project: project)
                #expect(
                    answer.status == 0 && (words.isEmpty || answer.output.contains(words)), "\(arguments): \(answer)")
            }
            for (arguments, words) in [
                (["releases", "archive", version], "does not archive releases"),
                (["monitors", "list"], "does not support cron monitors"),
                (["logs", "list"], "does not support logs"),
            ] {
                let answer = try await sentry(arguments, project: project)
                #expect(answer.status != 0 && answer.output.contains(words), "\(arguments): \(answer)")
            }
        }

        @Test(.enabled(if: canRun && FileManager.default.isExecutableFile(atPath: "/usr/bin/git")))
        func `sentry-cli sets the commits of consecutive releases from a local repository`() async throws {
            let folder = server.folder.appending(path: "tree-\(UInt32.random(in: 0 ... .max))").path
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            let git = ["/usr/bin/git", "-C", folder, "-c", "user.name=N", "-c", "user.email=n@example.org"]
            let versions = (1...2).map { "tree@\($0).0+\(UInt32.random(in: 0 ... .max))" }
            for command in [["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "one"]] {
                _ = try await RunningProgram.start(
                    git + command, environment: ["PATH": "/usr/bin:/bin", "HOME": folder],
                    output: server.folder.appending(path: "git.out"),
                    errors: server.folder.appending(path: "git.err")
                ).exitStatus(limit: .seconds(180))
            }
            for version in versions {
                let set = try await sentry(
                    ["releases", "set-commits", version, "--local"], variables: ["GIT_DIR": folder + "/.git"],
                    project: server.connection.appId)
                // The second one finds the first: there is nothing new.
                #expect(
                    set.status == 0
                        && set.output.contains(version == versions[0] ? "Success! Set commits" : "No commits found"),
                    "\(set)")
            }
        }
    }
}
