import Foundation
import MartletTesting
import Testing

/// `MARTLET_TEST_NODE`: a Node that has TypeScript's compiler, esbuild and Chromium beside it. `deploy/test` sets it.
private enum Node {
    static let path = ProcessInfo.processInfo.environment["MARTLET_TEST_NODE"].flatMap { $0.isEmpty ? nil : $0 }
}

extension IntegrationTests {
    /// The client in `clients/typescript`, in Node and in Chromium on a page of another origin, and the types that are
    /// generated into TypeScript files.
    @Suite(.enabled(if: Node.path != nil))
    struct TypeScriptTests {
        static let folder = Repository.root.appending(path: "clients/typescript")

        @Test(arguments: ["node", "chromium"])
        func `the TypeScript client passes its own tests`(_ place: String) async throws {
            try await LocalServer.with(environment: ["MARTLET_CORS_ORIGINS": "*"]) { server in
                let run = Self.folder.appending(path: "tests/run.mjs").path
                let connection = server.state.appending(path: "connection.json").path
                let (status, output) = try await Self.runNode([run, place, connection])
                #expect(status == 0, "\(output.suffix(8_000))")
                #expect(output.components(separatedBy: "\nok ").count > 20, "\(output)")
            }
        }

        @Test func `the program in the how-to runs`() async throws {
            try await LocalServer.with { server in
                let run = Self.folder.appending(path: "tests/run-document.mjs").path
                let document = Repository.root.appending(path: "docs/how-to/use-martlet-from-typescript.md").path
                let connection = server.state.appending(path: "connection.json").path
                let (status, output) = try await Self.runNode([run, document, connection])
                #expect(status == 0, "\(output.suffix(8_000))")
            }
        }

        @Test func `the generated types are those of docs/openapi.yaml`() async throws {
            let sources = try ["clients", "gateway"].flatMap(Self.typeScriptFiles).filter {
                try String(contentsOf: $0, encoding: .utf8).contains("\n// BEGIN GENERATED for ")
            }
            #expect(!sources.isEmpty)
            let generator = Self.folder.appending(path: "generate-types.mjs").path
            let (status, output) = try await Self.runNode([generator, "--check"] + sources.map(\.path))
            #expect(status == 0, "\(output)")
        }

        @Test func `stale types are noticed`() async throws {
            let folder = try TemporaryFolder.make()
            defer { TemporaryFolder.remove(folder) }
            let text = try String(contentsOf: Self.folder.appending(path: "martlet.ts"), encoding: .utf8)
            let stale = folder.appending(path: "stale.ts")
            try text.replacing("userName?: string;", with: "userName?: number;").write(
                to: stale, atomically: false, encoding: .utf8)
            let generator = Self.folder.appending(path: "generate-types.mjs").path
            let (status, output) = try await Self.runNode([generator, "--check", stale.path])
            #expect(status == 1 && output.contains("stale.ts is stale"), "\(output)")
            #expect(try await Self.runNode([generator, stale.path]).status == 0)
            #expect(try String(contentsOf: stale, encoding: .utf8) == text)
        }

        @Test func `what is written by hand has at most 500 lines of code`() throws {
            let text = try String(contentsOf: Self.folder.appending(path: "martlet.ts"), encoding: .utf8)
            let lines = text.split(separator: "\n").prefix { !$0.hasPrefix("// BEGIN GENERATED") }
            let code = lines.map { $0.drop(while: \.isWhitespace) }.filter { line in
                !line.isEmpty && !["//", "/*", "*"].contains { line.hasPrefix($0) }
            }
            #expect(code.count > 100 && code.count <= 500)
            #expect(lines.allSatisfy { $0.count <= 120 })
        }

        private static func typeScriptFiles(in folder: String) throws -> [URL] {
            let files = FileManager.default.enumerator(
                at: Repository.root.appending(path: folder), includingPropertiesForKeys: nil)
            return (files?.allObjects as? [URL] ?? []).filter { $0.pathExtension == "ts" }
        }

        /// - Returns: The exit status, and what was printed to both outputs.
        private static func runNode(_ arguments: [String]) async throws -> (status: Int, output: String) {
            let folder = try TemporaryFolder.make()
            defer { TemporaryFolder.remove(folder) }
            let output = folder.appending(path: "out")
            let program = try RunningProgram.start(
                [try #require(Node.path)] + arguments, environment: ["PATH": "/usr/bin:/bin", "HOME": folder.path],
                output: output, errors: output)
            let status = try await program.exitStatus(limit: .seconds(300))
            return (status, try String(contentsOf: output, encoding: .utf8))
        }
    }
}
