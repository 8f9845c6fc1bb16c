import Foundation
import MartletLogic
import Testing

@testable import MartletKit
@testable import MartletScreens

/// App definitions for tests: those of the example Napton, and made-up ones without a server.
enum DefinitionFixture {
    /// A document of `Sources/Examples/ExampleApps/Napton`.
    static func text(_ name: String) throws -> String {
        let tests = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        return try String(
            contentsOf: tests.appendingPathComponent("../Sources/Examples/ExampleApps/Napton/\(name).json"),
            encoding: .utf8)
    }

    /// The definition as the device gets it, with its parts from a scripted server.
    ///
    /// - Parameter answer: Answers all other calls.
    static func definition(
        _ document: JSON, _ components: DefinitionComponents = DefinitionComponents(),
        answer: @escaping @Sendable (HTTPRequest) throws -> HTTPResponse = { _ in throw MartletError(.notConnected, "")
        }
    ) async throws -> AppDefinition {
        var contents = ["app.json": root(document)]
        for kind in ["models", "views", "controllers"] {
            for (name, part) in document[kind]?.objectValue ?? [:] where part.stringValue == nil {
                contents["\(kind)/\(name)"] = part
            }
        }
        let parts = contents.mapValues(\.data)
        let byDigest = Dictionary(uniqueKeysWithValues: Set(parts.values).map { (SHA256Digest.hexadecimal($0), $0) })
        let transport = ScriptedTransport { request, _ in
            if let part = byDigest[request.url.lastPathComponent] { return HTTPResponse(status: 200, body: part) }
            return try answer(request)
        }
        let martlet = try Martlet.scripted(transport, change: { $0.retries = .never })
        var options = DefinitionOptions()
        options.components = components
        options.locale = Locale(identifier: "en_GB")
        options.timeZone = try #require(TimeZone(identifier: "UTC"))
        let folder = LocalFolder(url: Scratch.folder())
        let made = DefinitionParts(
            try manifest(parts),
            from: DefinitionServer(
                api: martlet.api, events: martlet.parts.documents, name: "test", options: options, deviceID: "d"),
            DefinitionStore(folder: folder))
        try await made.loadAll()
        let values = DefinitionValues(options, language: "en") { "translated \($0)" }
        return try await AppDefinition(
            made, models: DefinitionModels(api: martlet.api, folder: folder), components, values)
    }

    private static func root(_ document: JSON) -> JSON {
        var root = document
        for kind in ["models", "views", "controllers"] {
            root[kind] = .object(
                Dictionary(
                    uniqueKeysWithValues: (document[kind]?.objectValue ?? [:]).map { name, part in
                        (name, part.stringValue == nil ? .string("\(kind)/\(name)") : part)
                    }))
        }
        return root
    }

    private static func manifest(_ parts: [String: Data]) throws -> DefinitionManifest {
        let listed = parts.sorted { $0.key < $1.key }.map { path, data -> JSON in
            [
                "path": .string(path), "sha256": .string(SHA256Digest.hexadecimal(data)),
                "size": .number(JSONNumber(data.count)),
            ]
        }
        let json: JSON = [
            "schema": 1, "name": "test", "environment": "live", "version": 1, "content": 1, "published": "",
            "requires": [:],
            "parts": .array(listed), "keyId": "",
        ]
        return try JSONDecoder().decode(DefinitionManifest.self, from: json.data)
    }
}

/// Changes answers of the real server on their way.
final class ChangingTransport: HTTPTransport {
    typealias Change = @Sendable (HTTPRequest, HTTPResponse) throws -> HTTPResponse

    private let change = Locked<Change>({ $1 })
    private let requests = Locked<[HTTPRequest]>([])

    /// The requests so far.
    var sent: [HTTPRequest] { requests.withLock { $0 } }

    func answer(_ new: @escaping Change) { change.withLock { $0 = new } }

    func send(_ request: HTTPRequest, progress: (@Sendable (Int64) -> Void)?) async throws -> HTTPResponse {
        requests.withLock { $0.append(request) }
        let response = try await URLSessionTransport().send(request, progress: progress)
        return try change.withLock { $0 }(request, response)
    }

    func stream(_ request: HTTPRequest) async throws -> HTTPStream { try await URLSessionTransport().stream(request) }
}
