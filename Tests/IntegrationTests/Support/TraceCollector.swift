import Foundation
import Glibc
import MartletTesting

/// A trace collector that reads them with PyPI's `opentelemetry-proto`.
struct TraceCollector {
    struct Span {
        var process: String
        var trace: String
        var id: String
        var parent: String
        var name: String
    }

    /// Expected in each request.
    static let token = "a-token-for-the-collector-of-traces"

    /// Makes every process of a server send its spans here.
    let environment: [String: String]
    private let folder: URL

    /// Runs `body` with a collector; with nil if there is no Python with the test tools.
    static func with(_ body: (TraceCollector?) async throws -> Void) async throws {
        guard let python = ProcessInfo.processInfo.environment["MARTLET_TEST_PYTHON"], !python.isEmpty else {
            return try await body(nil)
        }
        let folder = try TemporaryFolder.make()
        defer { TemporaryFolder.remove(folder) }
        let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appending(path: "trace_collector.py")
        let address = folder.appending(path: "address")
        let files = [address, folder.appending(path: "spans"), folder.appending(path: "bodies")]
        let program = try RunningProgram.start(
            [python, script.path] + files.map(\.path) + [token], environment: ["PATH": "/usr/bin:/bin"],
            output: folder.appending(path: "out"), errors: folder.appending(path: "errors"))
        defer { program.signal(SIGKILL) }
        try await eventually("the collector is ready") { FileManager.default.fileExists(atPath: address.path) }
        try await body(TraceCollector(folder: folder, endpoint: String(contentsOf: address, encoding: .utf8)))
    }

    private init(folder: URL, endpoint: String) {
        self.folder = folder
        environment = [
            "MARTLET_TRACES_ENDPOINT": endpoint, "MARTLET_TRACES_HEADERS": "authorization=Bearer%20\(Self.token)",
            "MARTLET_TRACES_SAMPLE": "1",
        ]
    }

    /// The spans received so far. One of the process `refused` stands for a body that could not be read.
    var spans: [Span] {
        let text = (try? String(contentsOf: folder.appending(path: "spans"), encoding: .utf8)) ?? ""
        return text.split(separator: "\n").compactMap { line in
            let words = line.split(separator: " ", maxSplits: 4).map(String.init)
            guard words.count == 5 else { return nil }
            return Span(process: words[0], trace: words[1], id: words[2], parent: words[3], name: words[4])
        }
    }

    /// Why bodies could not be read; empty if there is no such body.
    var errors: String { (try? String(contentsOf: folder.appending(path: "errors"), encoding: .utf8)) ?? "" }

    /// Copies all bodies received so far.
    func copyBodies(to file: URL) throws {
        try FileManager.default.copyItem(at: folder.appending(path: "bodies"), to: file)
    }
}
