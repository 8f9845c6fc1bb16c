import Foundation
import Testing

@testable import MartletKit

/// The real server that these tests are clients of: `MARTLET_TEST_CONNECTION` names its `connection.json`.
/// `deploy/test MartletKitTests` starts one.
struct TestServer {
    let connection: JSON

    static let shared = Task { try await TestServer() }

    private init() async throws {
        guard let path = ProcessInfo.processInfo.environment["MARTLET_TEST_CONNECTION"] else {
            throw MartletError(.invalidArgument, "MARTLET_TEST_CONNECTION is not set: use deploy/test MartletKitTests.")
        }
        connection = try JSON(parsing: Data(contentsOf: URL(fileURLWithPath: path)))
    }

    func text(_ name: String) throws -> String { try #require(connection[name]?.stringValue) }

    /// A new device of the app's users.
    static func device(_ change: (inout Martlet.Configuration) -> Void = { _ in }) async throws -> Martlet {
        let server = try await shared.value
        var configuration = Martlet.Configuration(
            url: try #require(URL(string: try server.text("url"))), appKey: try server.text("appKey"),
            secret: try server.text("secret"))
        configuration.sessionStore = MemorySessionStore()
        configuration.folder = Scratch.folder()
        configuration.timeout = 120
        change(&configuration)
        return Martlet(configuration)
    }

    /// What the app's own server does, with the master key.
    @discardableResult
    static func manage(_ method: String, _ path: String, _ body: JSON? = nil) async throws -> JSON {
        let server = try await shared.value
        let key = try server.text("masterKey")
        var request = APIRequest(method, path, json: body)
        request.caller = .app
        request.headers["x-martlet-master-key"] = key
        return try await device().api.json(request)
    }

    /// Waits, for two minutes at most, until a condition holds that others bring about.
    static func wait(until holds: () async throws -> Bool) async throws {
        let end = Date().addingTimeInterval(120)
        while try await !holds() {
            try #require(Date() < end, "The condition did not hold within two minutes.")
            try await Task.sleep(nanoseconds: 20_000_000)
        }
    }

    /// A name that no other test uses.
    static func name(_ base: String) -> String { base + UUID().uuidString.prefix(8) }
}
