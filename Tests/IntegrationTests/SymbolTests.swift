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
        static let debugFile = (ProcessInfo.processInfo.environment["MARTLET_VECTORS"] ?? "../shared/vectors") + "/sentry/macos-crash.dSYM.macho"
        static let canRun =
            program.map(FileManager.default.isExecutableFile(atPath:)) == true && FileManager.default.fileExists(atPath: debugFile)

        let server: LocalServer

        init() throws {
            server = try .current
        }

        /// `sentry-cli` with arguments, as somebody's build would run it.
        private func sentry(_ arguments: String..., key: String? = nil, project: String) async throws -> (status: Int, output: String) {
            let name = "sentry-cli-\(UInt32.random(in: 0 ... .max))"
            let (output, errors) = (server.folder.appending(path: name + ".out"), server.folder.appending(path: name + ".err"))
            let program = try RunningProgram.start(
                [try #require(Self.program)] + arguments,
                environment: [
                    "PATH": "/usr/bin:/bin", "HOME": server.folder.path, "SENTRY_URL": server.connection.url + "/",
                    "SENTRY_AUTH_TOKEN": key ?? server.connection.masterKey, "SENTRY_ORG": "any", "SENTRY_PROJECT": project,
                ], output: output, errors: errors)
            let status = try await program.exitStatus(limit: .seconds(120))
            return (status, try String(contentsOf: output, encoding: .utf8) + String(contentsOf: errors, encoding: .utf8))
        }

        @Test(.enabled(if: canRun)) func `sentry-cli uploads a dSYM unmodified, and only once`() async throws {
            let project = server.connection.sentryDSN.split(separator: "/").last.map(String.init) ?? ""
            let info = try await sentry("info", project: project)
            #expect(info.status == 0 && info.output.contains(server.connection.url), "\(info)")

            let first = try await sentry("debug-files", "upload", "--wait", Self.debugFile, project: project)
            #expect(first.status == 0, "\(first)")
            #expect(first.output.contains("Uploaded 1 missing debug information file"), "\(first)")
            #expect(first.output.contains("OK 67e9247c-814e-392b-a027-dbde6748fcbf"), "\(first)")
            let second = try await sentry("debug-files", "upload", "--wait", Self.debugFile, project: server.connection.appId)
            #expect(second.status == 0 && second.output.contains("Nothing to upload"), "\(second)")

            let list = try await Client.master(server.connection).get("crashes/symbols?debugId=67e9247c-814e-392b-a027-dbde6748fcbf")
            #expect(list["count"] == "1" && list["data.0.state"] == "\"ok\"", "\(list)")
            let id = try #require(list.string("data.0.id"))
            let address = "\(server.connection.url)/api/\(server.connection.appKey)/crashes/symbols/\(id)"
            let deleted = try await Client.send("DELETE", address, headers: [HeaderName.masterKey: server.connection.masterKey])
            #expect(deleted.status == 204, "\(deleted)")
        }

        @Test(.enabled(if: canRun)) func `sentry-cli is told when the key or the project is wrong`() async throws {
            let wrongKey = try await sentry("debug-files", "upload", Self.debugFile, key: server.connection.secret, project: "1")
            #expect(wrongKey.status != 0 && wrongKey.output.contains("401"), "\(wrongKey)")
            let wrongProject = try await sentry("debug-files", "upload", Self.debugFile, project: "999999")
            #expect(wrongProject.status != 0 && wrongProject.output.contains("Project not found"), "\(wrongProject)")
        }
    }
}
