import Foundation
public import MartletKit
import MartletLogic

extension Martlet {
    /// A loader for the app definition that the server has under this name. Make one loader and keep it.
    public func definition(_ name: String, _ options: DefinitionOptions = DefinitionOptions()) -> DefinitionLoader {
        DefinitionLoader(name, options, api, parts)
    }
}

/// The result of ``DefinitionLoader/refresh()``.
public struct DefinitionUpdate: Sendable, Hashable {
    /// The version that is in effect now.
    public let version: Int
    /// Whether it was not in effect before.
    public let isNew: Bool
    /// The parts that were downloaded: `views/EventDetailView`.
    public let downloadedParts: [String]
    /// The total size of the manifest and these parts.
    public let downloadedBytes: Int
}

/// Downloads an app definition, checks it, and keeps it on the device for use without a connection.
///
/// A version comes into effect only if it is complete, not older than one before it, and signed by one of
/// `Martlet.Configuration.definitionKeys`. Otherwise the last good one stays.
///
/// ```swift
/// let loader = martlet.definition("kick-in")
/// let definition = try await loader.start()
/// let screen = try await definition.open()
/// ```
public final class DefinitionLoader: Sendable {
    private struct State {
        var current: AppDefinition?
        var entityTag: String?
        var hasRead = false
        var update: DefinitionUpdate?
    }

    public let name: String
    private let options: DefinitionOptions
    private let api: APIClient
    private let parts: Parts
    private let server: DefinitionServer
    private let store: DefinitionStore
    private let trust: DefinitionTrust
    private let runs = SharedRun()
    private let state = Locked(State())
    private let observers = Observers<AppDefinition>()

    init(_ name: String, _ options: DefinitionOptions, _ api: APIClient, _ parts: Parts) {
        self.name = name
        self.options = options
        self.api = api
        self.parts = parts
        trust = DefinitionTrust(name: name, options: options, configuration: api.configuration)
        server = DefinitionServer(
            api: api, events: parts.documents, name: name, options: options, deviceID: parts.identity.id)
        store = DefinitionStore(
            folder: parts.definitions.subfolder(Self.folderName(of: name, api.configuration, options)))
    }

    /// The definition in effect, which is the last good one of this device; nil before there is one.
    public var current: AppDefinition? {
        get async {
            await readOnce()
            return state.withLock { $0.current }
        }
    }

    /// The newest definition if the server can be reached and has a good one, otherwise the last good one of this
    /// device. To show something at once, show ``current`` first.
    ///
    /// - Throws: `MartletError` if the device has none.
    public func start() async throws -> AppDefinition {
        do {
            try await refresh()
        } catch let error as MartletError {
            guard await current != nil else { throw error }
            api.configuration.log(
                .warning, "Could not update the app definition; keeping the last good one", ["error": "\(error)"])
        }
        guard let current = await current else { throw MartletError(.definitionRefused, "There is no definition.") }
        return current
    }

    /// Asks the server for a newer version, downloads what has changed and puts it into effect.
    ///
    /// - Throws: `MartletError`, with the code `definitionRefused` if the definition cannot be trusted or is not
    ///   complete, and `definitionNotSupported` if it needs a newer app. The definition in effect stays.
    @discardableResult
    public func refresh() async throws -> DefinitionUpdate {
        try await runs.run { [self] in
            await readOnce()
            let update = try await update()
            state.withLock { $0.update = update }
        }
        return state.withLock { $0.update }
            ?? DefinitionUpdate(
                version: 0, isNew: false, downloadedParts: [], downloadedBytes: 0)
    }

    /// The definition in effect, then each one that follows. As long as the sequence is iterated, the client learns of
    /// publications within a second or so.
    public func updates() -> AsyncStream<AppDefinition> {
        let (stream, continuation) = AsyncStream<AppDefinition>.makeStream(bufferingPolicy: .bufferingNewest(1))
        let id = UUID()
        let following = Task { [self] in
            await readOnce()
            state.withLock { state in
                // The iteration may have ended while the definition was read.
                guard !Task.isCancelled else { return }
                observers.insert(continuation, id)
                if let current = state.current { continuation.yield(current) }
            }
            let wanted = "definition/" + name
            for await _ in await parts.documents.publications(where: { $0.isComplete || $0.documents.contains(wanted) })
            {
                await refreshAfterPublication()
            }
        }
        continuation.onTermination = { [weak self] _ in
            following.cancel()
            self?.state.withLock { _ in self?.observers.remove(id) }
        }
        return stream
    }

    /// Retries temporary failures, until the next publication is in effect or this task is cancelled.
    private func refreshAfterPublication() async {
        var backoff = Backoff(clock: api.configuration.clock)
        backoff.shortest = 2
        var mayPass = true
        while mayPass, !Task.isCancelled {
            do {
                try await refresh()
                return
            } catch {
                mayPass = (error as? MartletError)?.mayPass ?? false
                api.configuration.log(
                    .warning, "Could not update the app definition; keeping the last good one", ["error": "\(error)"])
            }
            if mayPass { try? await backoff.wait() }
        }
    }

    /// The keys with which the server signs the app's definitions, newest first, to find out which ones to build into
    /// the app. Keys that the app loads at run time protect nothing.
    public func publishedKeys() async throws -> [DefinitionKey] {
        let keys = try await api.json(APIRequest("GET", "definitions/keys"))["keys"]?.arrayValue ?? []
        return keys.compactMap { $0["x"]?.stringValue.map(DefinitionKey.init(x:)) }
    }

    // MARK: Checking

    private func update() async throws -> DefinitionUpdate {
        let before = state.withLock { ($0.current, $0.entityTag) }
        let mayBeUnchanged = before.0.map { !Self.hasExpired($0.parts.manifest, now) } ?? false
        let tag = mayBeUnchanged && !options.alwaysRefreshes ? before.1 : nil
        guard let answer = try await server.manifest(since: tag) else {
            return DefinitionUpdate(
                version: before.0?.version ?? 0, isNew: false, downloadedParts: [], downloadedBytes: 0)
        }
        let manifest = try trust.check(answer, latest: latest(before.0), at: now)
        if options.preview == nil { try? store.note(manifest, trusted: api.configuration.definitionKeys) }
        let parts = DefinitionParts(manifest, from: server, store, usesDisk: !options.alwaysRefreshes)
        if !options.loadsOnDemand { try await parts.loadAll() }
        let definition = try await definition(of: parts)
        if parts.areKept { try? store.keep(answer, manifest, after: before.0?.parts.manifest) }
        let isNew = before.0?.parts.manifest.parts != manifest.parts || before.0?.version != manifest.version
        put(definition, answer.entityTag, notifiesObservers: isNew)
        return DefinitionUpdate(
            version: manifest.version, isNew: isNew, downloadedParts: parts.downloaded.paths,
            downloadedBytes: answer.json.count + parts.downloaded.bytes)
    }

    /// The latest version that the device has seen, even if it can no longer use that version; nil for previews, which
    /// may go back.
    private func latest(_ current: AppDefinition?) -> Int? {
        guard options.preview == nil else { return nil }
        return [current?.version, store.latestVersion(trusted: api.configuration.definitionKeys)].compactMap(\.self)
            .max()
    }

    private func put(_ definition: AppDefinition, _ entityTag: String?, notifiesObservers: Bool) {
        state.withLock { state in
            state.current = definition
            state.entityTag = entityTag
            state.hasRead = true
            if notifiesObservers { observers.yield(definition) }
        }
    }

    private func definition(of parts: DefinitionParts) async throws -> AppDefinition {
        let translations = self.parts.translations
        let values = DefinitionValues(options, language: translations.language) { translations.text($0) }
        return try await AppDefinition(
            parts, models: DefinitionModels(api: api, folder: store.folder), options.components, values)
    }

    /// Reads the last good definition of this device.
    private func readOnce() async {
        guard !state.withLock({ $0.hasRead }) else { return }
        var kept: AppDefinition?
        var mayPass = false
        if let answer = store.answer {
            do {
                kept = try await definition(of: keptParts(of: trust.check(answer, latest: nil, at: .distantPast)))
            } catch {
                // A part is missing and cannot be loaded now.
                mayPass = error is CancellationError || (error as? MartletError)?.mayPass == true
                api.configuration.log(
                    .warning, "Could not use the app definition of this device", ["error": "\(error)"])
            }
        }
        var tag = kept == nil ? nil : store.answer?.entityTag
        if let bundled = await bundled(after: kept) { (kept, tag, mayPass) = (bundled, nil, false) }
        state.withLock { [kept, tag, mayPass] state in
            // Another task may have been faster.
            guard !state.hasRead else { return }
            state.hasRead = !mayPass
            state.current = kept
            state.entityTag = tag
        }
    }

    /// The definition that is built into the app, if it is newer than the one of this device and not older than any
    /// that the device has seen. It becomes the last good one.
    private func bundled(after kept: AppDefinition?) async -> AppDefinition? {
        guard options.preview == nil, let bundle = options.bundle.map(DefinitionBundle.init) else { return nil }
        do {
            let manifest = try trust.check(bundle.answer, latest: nil, at: .distantPast)
            guard manifest.version > kept?.version ?? Int.min, manifest.version >= latest(kept) ?? Int.min else {
                return nil
            }
            let parts = keptParts(of: manifest)
            let definition = try await definition(of: parts)
            try? store.note(manifest, trusted: api.configuration.definitionKeys)
            if parts.areKept { try? store.keep(bundle.answer, manifest, after: kept?.parts.manifest) }
            return definition
        } catch {
            api.configuration.log(
                .warning, "Could not use the definition that is built into the app", ["error": "\(error)"])
            return nil
        }
    }

    private func keptParts(of manifest: DefinitionManifest) -> DefinitionParts {
        let parts = DefinitionParts(manifest, from: server, store)
        parts.readKept()
        return parts
    }

    private var now: Date { api.configuration.clock.now() }

    /// Escaped names have no plus sign, so no two definitions share a folder.
    static func folderName(
        of name: String, _ configuration: Martlet.Configuration, _ options: DefinitionOptions
    ) -> String { DefinitionTrust.environment(configuration, options) + "+" + APIRequest.escape(name) }

    private static func hasExpired(_ manifest: DefinitionManifest, _ now: Date) -> Bool {
        guard let expires = manifest.expires else { return false }
        return RFC3339.date(expires).map { $0 <= now } ?? true
    }
}
