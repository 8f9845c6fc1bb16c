import Foundation
import MartletKit
import MartletLogic

/// The parts of one version of a definition: in memory, on disk, built into the app, or still on the server.
final class DefinitionParts: Sendable {
    /// The parts that were downloaded, and their total size.
    struct Traffic: Sendable {
        var paths: [String] = []
        var bytes = 0
    }

    private static let maximumConnections = 6

    let manifest: DefinitionManifest
    private let server: DefinitionServer
    private let store: DefinitionStore
    private let bundle: DefinitionBundle?
    /// Whether parts on disk and in the app are used.
    private let usesDisk: Bool
    private let paths: [String: DefinitionManifest.Part]
    private let loaded = Locked<[String: JSON]>([:])
    private let traffic = Locked(Traffic())

    init(_ manifest: DefinitionManifest, from server: DefinitionServer, _ store: DefinitionStore, usesDisk: Bool = true)
    {
        self.manifest = manifest
        self.server = server
        self.store = store
        self.usesDisk = usesDisk
        bundle = server.options.bundle.map(DefinitionBundle.init)
        paths = Dictionary(manifest.parts.map { ($0.path, $0) }) { first, _ in first }
    }

    /// What was downloaded since the parts were made.
    var downloaded: Traffic { traffic.withLock { $0 } }

    /// The part if the device has it.
    func kept(_ path: String) -> JSON? {
        if let json = loaded.withLock({ $0[path] }) { return json }
        guard usesDisk, let part = paths[path], let json = store.part(part) ?? builtIn(part) else { return nil }
        loaded.withLock { $0[path] = json }
        return json
    }

    /// The part if it is in the app, undamaged. It is copied to the disk, because the next version of the app may not
    /// include it.
    private func builtIn(_ part: DefinitionManifest.Part) -> JSON? {
        guard let data = bundle?.data(of: part), let json = try? DefinitionStore.check(data, part) else { return nil }
        try? store.keep(data, as: part)
        return json
    }

    /// Reads all parts that the device has into memory: later versions remove them from the disk.
    func readKept() {
        for part in manifest.parts { _ = kept(part.path) }
    }

    /// The part, from the server if the device does not have it; nil if the definition has no such part.
    func load(_ path: String) async throws -> JSON? {
        if let json = kept(path) { return json }
        guard let part = paths[path] else { return nil }
        let data = try await server.part(part)
        let json = try DefinitionStore.check(data, part)
        loaded.withLock { $0[path] = json }
        traffic.withLock { traffic in
            traffic.paths.append(path)
            traffic.bytes += data.count
        }
        // A full disk must not prevent the app from showing what it has received.
        try? store.keep(data, as: part)
        return json
    }

    /// Loads all parts, several at a time. Parts with the same content are loaded once.
    func loadAll() async throws {
        var first: [String: String] = [:]
        for part in manifest.parts where first[part.sha256] == nil { first[part.sha256] = part.path }
        let wanted = manifest.parts.filter { first[$0.sha256] == $0.path }.map(\.path)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (index, path) in wanted.enumerated() {
                if index >= Self.maximumConnections { try await group.next() }
                group.addTask { _ = try await self.load(path) }
            }
            try await group.waitForAll()
        }
        for part in manifest.parts {
            guard let path = first[part.sha256], path != part.path, let json = kept(path) else { continue }
            loaded.withLock { $0[part.path] = json }
        }
    }

    /// Whether the disk has every part that is in memory.
    var areKept: Bool {
        let inMemory = loaded.withLock { Set($0.keys) }
        return inMemory.allSatisfy { path in paths[path].map { store.part($0) != nil } ?? false }
    }
}

/// The calls for one definition.
struct DefinitionServer: Sendable {
    let api: APIClient
    let events: DocumentEvents
    let name: String
    let options: DefinitionOptions
    let deviceID: String

    /// Nil if the server says that nothing has changed.
    func manifest(since entityTag: String?) async throws -> DefinitionStore.Answer? {
        var request = request("manifest")
        let device = api.configuration.device
        request.query += [
            ("client", device.appVersion), ("capabilities", options.components.capabilities), ("unit", deviceID),
        ]
        request.headers["if-none-match"] = entityTag
        request.maximumAnswerSize = DefinitionStore.maximumManifestSize
        let response = try await events.send(request)
        if response.status == 304, entityTag != nil { return nil }
        guard response.status == 200, response.body.count <= DefinitionStore.maximumManifestSize else {
            throw MartletError(.definitionRefused, "The manifest is missing or too large.")
        }
        return DefinitionStore.Answer(json: response.body, entityTag: response.headers["etag"])
    }

    func part(_ part: DefinitionManifest.Part) async throws -> Data {
        var request = request("parts/" + part.sha256)
        // An error response must fit, too.
        request.maximumAnswerSize = max(part.size, 64 << 10)
        return try await events.send(request).body
    }

    private func request(_ path: String) -> APIRequest {
        var request = APIRequest("GET", "definitions/\(APIRequest.escape(name))/\(path)")
        if let preview = options.preview { request.query.append(("preview", preview)) }
        return request
    }
}
