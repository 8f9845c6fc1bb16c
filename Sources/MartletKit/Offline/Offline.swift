public import Foundation

extension Martlet {
    /// Objects kept on the device, for work without a connection.
    public var offline: Offline { parts.offline }
}

/// How much the device keeps, for each collection.
public struct OfflineOptions: Sendable, Hashable {
    /// How many writes may wait to be sent. A write more throws ``MartletError/Code/outboxFull``.
    public var maximumPendingWrites = 1_000
    /// How much room they may take, in bytes.
    public var maximumPendingBytes = 8 << 20
    /// How often the server may fail to carry out a write (5xx) before it is given up. Times without a connection do
    /// not count.
    public var maximumFailures = 20
    /// After how many seconds everything is read again, because the change feed does not show what changed rules and
    /// roles show or hide.
    public var fullSyncInterval: TimeInterval = 24 * 3_600

    public init() {}
}

/// A write that was done on the device and that the server refused. The object is as on the server again.
public struct OfflineFailure: Sendable {
    public let collection: String
    public let write: PendingWrite
    /// The server's answer: ``MartletError/Code/preconditionFailed`` after a conflict that the server won.
    public let error: MartletError
}

/// Keeps objects on the device: queries are answered at once, writes wait until they can be sent.
///
/// ```swift
/// let events = try await martlet.offline.collection(Event.self, where: \.city == "Bern")
/// try await events.create(Event(title: "Match", city: "Bern"))        // works without a connection
/// for event in try await events.find(Event.query().order(by: \.title)) { print(event.title) }
/// try await events.sync()
/// ```
///
/// Each user has files of their own, and so has the app while nobody is signed in.
public final class Offline: Sendable {
    private let api: APIClient
    private let folder: LocalFolder
    private let stores = Locked<[String: OfflineStore]>([:])
    private let reports = OfflineReports()

    init(_ api: APIClient, _ folder: LocalFolder) {
        self.api = api
        self.folder = folder
    }

    /// The signed-in user's objects of a type, as they are kept on this device.
    ///
    /// - Parameters:
    ///   - condition: Which objects to keep; nil: all that the user may see. With another condition than before,
    ///     everything is read again.
    ///   - conflicts: What becomes of changes to objects that were changed on the server, too.
    /// - Throws: ``MartletError/Code/unsupportedOffline`` for a condition that the device cannot evaluate;
    ///   ``MartletError/Code/offlineStoreInUse``; ``MartletError/Code/fileFailed``.
    public func collection<Value: Storable>(
        _ type: Value.Type, where condition: Condition<Value>? = nil, conflicts: ConflictPolicy<Value> = .serverWins
    ) async throws -> OfflineCollection<Value> {
        let userID = try await api.session.current()?.user.id
        let resolver = ConflictResolver(conflicts, tolerance: api.configuration.tolerance)
        let store = try store(Value.collection, userID, resolver)
        let filter = try condition?.filter.get() ?? [:]
        try await store.open(filter: filter, resolver: resolver)
        return OfflineCollection(store: store, api: api, reports: reports)
    }

    private func store(_ collection: String, _ userID: String?, _ resolver: ConflictResolver) throws -> OfflineStore {
        try stores.withLock { stores in
            let key = collection + "\n" + (userID ?? "")
            if let store = stores[key] { return store }
            let store = try OfflineStore(
                collection, userID: userID, in: subfolder(userID), options: api.configuration.offline,
                resolver: resolver)
            stores[key] = store
            return store
        }
    }

    /// A folder for the app, environment and user.
    private func subfolder(_ userID: String?) -> LocalFolder {
        let configuration = api.configuration
        let owner: [JSON] = [
            .string(configuration.url.absoluteString), .string(configuration.appKey),
            configuration.environment.map { .string($0.rawValue) } ?? .null, userID.map(JSON.string) ?? .null,
        ]
        return folder.subfolder(String(SHA256Digest.hexadecimal(JSON.array(owner).data).prefix(32)))
    }

    /// The writes that the server refuses from now on, and the last 100 that nobody was told about.
    ///
    /// They are also in the client's log.
    public func failures() -> AsyncStream<OfflineFailure> { reports.stream() }

    /// Removes everything that is kept for the signed-in user, also writes that were not sent.
    ///
    /// Signing out removes nothing: the user finds it when they sign in again. Call this before
    /// ``Users/signOut()`` on devices that people share.
    public func removeAll() async throws {
        let userID = try await api.session.current()?.user.id
        let open = stores.withLock { stores in
            let own = stores.filter { $0.value.userID == userID }
            for key in own.keys { stores[key] = nil }
            return own.values
        }
        for store in open { await store.close() }
        let folder = subfolder(userID).url
        if FileManager.default.fileExists(atPath: folder.path) { try FileManager.default.removeItem(at: folder) }
    }

    /// Ends the use of all files, as a crash would.
    func closeAll() async {
        for store in stores.withLock({ $0.values }) { await store.close() }
    }
}

/// Passes failures on, and keeps some while nobody listens.
final class OfflineReports: Sendable {
    private struct State {
        var waiting: [OfflineFailure] = []
        var readers: [UUID: AsyncStream<OfflineFailure>.Continuation] = [:]
    }

    private static let maximumCount = 100

    private let state = Locked(State())

    func report(_ failure: OfflineFailure) {
        state.withLock { state in
            for reader in state.readers.values { reader.yield(failure) }
            if state.readers.isEmpty { state.waiting = state.waiting.suffix(Self.maximumCount - 1) + [failure] }
        }
    }

    func stream() -> AsyncStream<OfflineFailure> {
        let (stream, reader) = AsyncStream<OfflineFailure>.makeStream(
            bufferingPolicy: .bufferingNewest(Self.maximumCount))
        let id = UUID()
        reader.onTermination = { [weak self] _ in self?.state.withLock { $0.readers[id] = nil } }
        state.withLock { state in
            for failure in state.waiting { reader.yield(failure) }
            state.waiting = []
            state.readers[id] = reader
        }
        return stream
    }
}
