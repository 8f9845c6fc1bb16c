import Foundation
import MartletKit

/// An app on the server: its keys, and what its developer does with the master key.
struct ExampleApp: Sendable {
    let url: URL
    let bundleID: String
    let environment: Martlet.Environment
    private let number: Int
    private let keys: JSON

    /// - Parameter json: The answer of `POST /admin/apps`.
    init(_ json: JSON, url: URL, bundleID: String) throws {
        guard let number = json["app"]?["number"]?.intValue, let keys = json["keys"] else {
            throw StoryError("The server's answer has no app with keys.")
        }
        self.init(url: url, bundleID: bundleID, environment: .live, number: number, keys: keys)
    }

    private init(url: URL, bundleID: String, environment: Martlet.Environment, number: Int, keys: JSON) {
        self.url = url
        self.bundleID = bundleID
        self.environment = environment
        self.number = number
        self.keys = keys
    }

    /// The same app in its test environment, which has its own data.
    var inTest: ExampleApp {
        ExampleApp(url: url, bundleID: bundleID, environment: .test, number: number, keys: keys)
    }

    func key(_ name: String) -> String { keys[name]?.stringValue ?? "" }

    var appKey: String { key(environment == .live ? "appKey" : "testAppKey") }

    /// Where crash reports of the app go.
    private var sentryDSN: String {
        let address = url.absoluteString.replacingOccurrences(of: "://", with: "://\(key("ingestKey"))@")
        return "\(address)/crash/\(number)"
    }

    /// A call with the master key.
    @discardableResult
    func manage(_ method: String, _ path: String, _ body: JSON? = nil, headers: HTTPHeaders = [:]) async throws -> JSON
    {
        try await asServer.json(method, "api/\(appKey)/\(path)", body, headers)
    }

    /// A call with the master key, whose body is sent as it is: a file, or JSON whose members keep their order.
    @discardableResult
    func manage(
        _ method: String, _ path: String, bytes: [UInt8], headers: HTTPHeaders = [:]
    ) async throws -> JSON {
        try await asServer.json(method, "api/\(appKey)/\(path)", bytes: Data(bytes), headers)
    }

    private var asServer: Call { Call(url, headers: ["x-martlet-master-key": key("masterKey")]) }

    /// Sets what the collections look like and who may do what in them. The live environment of a new app allows
    /// nothing by itself; this closes the test environment, too.
    ///
    /// - Parameters:
    ///   - schemas: JSON Schemas by collection.
    ///   - rules: A file as `martlet rules push` takes it.
    func declare(schemas: [UInt8], rules: [UInt8]) async throws {
        for (collection, schema) in try JSON(parsing: Data(schemas)).objectValue ?? [:] {
            try await manage("PUT", "collections/\(collection)/schema", schema)
        }
        try await manage("PUT", "rules", JSON(parsing: Data(rules)))
    }

    /// A phone with this app on it.
    ///
    /// - Parameters:
    ///   - folder: Where the phone keeps its data. The same folder gives the same phone after a restart.
    ///   - change: Adapts the phone's configuration.
    func phone(
        of owner: String, folder: URL = Scratch.folder(),
        _ change: (inout Martlet.Configuration) -> Void = { _ in }
    ) -> Martlet {
        var configuration = Martlet.Configuration(url: url, appKey: key("appKey"), secret: key("secret"))
        // As a debug build of the app does.
        if environment == .test { configuration.environment = .test }
        configuration.sessionStore = FileSessionStore(url: folder.appendingPathComponent("session.json"))
        configuration.folder = folder
        configuration.defaults = nil
        configuration.deviceName = "\(owner)'s phone"
        configuration.sentryDSN = sentryDSN
        configuration.device.platform = "ios"
        configuration.device.bundleIdentifier = bundleID
        configuration.device.language = "en"
        change(&configuration)
        return Martlet(configuration)
    }
}

/// Folders of simulated phones. They are removed when the process ends.
enum Scratch {
    static func folder() -> URL { root.appendingPathComponent(UUID().uuidString) }

    private static let root: URL = {
        atexit { try? FileManager.default.removeItem(at: Scratch.root) }
        return FileManager.default.temporaryDirectory.appendingPathComponent("martlet-examples-\(getpid())")
    }()
}
