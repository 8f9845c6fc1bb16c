import Foundation
import Testing

@testable import MartletKit

/// A running server. `MARTLET_TEST_CONNECTION` is the path of its `connection.json`; without it, tests that need the
/// server are skipped.
struct LiveServer: Sendable {
    static let shared = LiveServer()

    let connection: JSON
    private let url: URL

    private init?() {
        guard let path = ProcessInfo.processInfo.environment["MARTLET_TEST_CONNECTION"],
            let data = FileManager.default.contents(atPath: path), let json = try? JSON(parsing: data),
            let url = json["url"]?.stringValue.flatMap({ URL(string: $0) })
        else { return nil }
        connection = json
        self.url = url
    }

    /// The configuration of a new device, which shares nothing with others.
    func configuration(appVersion: String = "1.0", folder: URL = Scratch.folder()) throws -> Martlet.Configuration {
        var configuration = Martlet.Configuration(
            url: url, appKey: try #require(connection["appKey"]?.stringValue),
            secret: try #require(connection["secret"]?.stringValue))
        configuration.sessionStore = MemorySessionStore()
        configuration.folder = folder
        configuration.device.appVersion = appVersion
        configuration.device.language = "en"
        configuration.defaults = nil
        configuration.timeout = 120
        return configuration
    }

    /// A call with the master key, as the app's own server makes it.
    @discardableResult
    func manage(
        _ method: String, _ path: String, _ json: JSON? = nil, headers: HTTPHeaders = [:]
    ) async throws -> JSON {
        try await manage(method, path, data: json?.data, headers: headers)
    }

    /// - Parameter text: JSON whose members keep their order.
    @discardableResult
    func manage(
        _ method: String, _ path: String, text: String?, headers: HTTPHeaders = [:]
    ) async throws -> JSON {
        try await manage(method, path, data: text.map { Data($0.utf8) }, headers: headers)
    }

    @discardableResult
    func manage(
        _ method: String, _ path: String, data: Data?, headers: HTTPHeaders = [:]
    ) async throws -> JSON {
        let key = try #require(connection["appKey"]?.stringValue)
        var headers = headers
        headers["x-martlet-master-key"] = connection["masterKey"]?.stringValue
        let request = HTTPRequest(
            method: method, url: try #require(URL(string: "\(url.absoluteString)/api/\(key)/\(path)")),
            headers: headers,
            body: data)
        let response = try await URLSessionTransport().send(request, progress: nil)
        let answer = response.body.isEmpty ? JSON.null : try JSON(parsing: response.body)
        try #require((200..<300).contains(response.status), "\(method) \(path): \(answer.text)")
        return answer
    }
}

enum Scratch {
    /// A folder of this test's own. It is removed when the process ends.
    static func folder() -> URL { root.appendingPathComponent(UUID().uuidString) }

    private static let root: URL = {
        atexit { try? FileManager.default.removeItem(at: Scratch.root) }
        return FileManager.default.temporaryDirectory.appendingPathComponent("martletkit-\(getpid())")
    }()
}

/// Waits until a condition holds that other tasks or processes bring about.
///
/// - Parameter expectation: The expected condition, for the failure message: "the write is sent".
func eventually(
    within seconds: TimeInterval = 120, _ expectation: String, _ holds: () async throws -> Bool
) async throws {
    let end = Date().addingTimeInterval(seconds)
    while Date() < end {
        if try await holds() { return }
        try await Task.sleep(nanoseconds: 20_000_000)
    }
    Issue.record("Not within \(seconds) s: \(expectation).")
}
