public import Foundation

extension Martlet {
    /// Objects kept on the device, for work without a connection.
    public var offline: Offline { parts.offline }
}

/// How much the device keeps, for each collection.
public struct OfflineOptions: Sendable, Hashable {
    /// The maximum number of writes that may wait to be sent. One more throws
    /// ``MartletError/Code/outboxFull``.
    public var maximumPendingWrites = 1_000
    /// The maximum size of the waiting writes, in bytes.
    public var maximumPendingBytes = 8 << 20
    /// How often the server may fail to carry out a write (`internal-error`), while it carries out others, before the
    /// write is dropped.
    public var maximumFailures = 20
    /// The interval in seconds after which everything is read again, because the change feed does not report objects
    /// that a change of rules or roles reveals or hides.
    public var fullSyncInterval: TimeInterval = 24 * 3_600

    /// The number of bytes by which the file of a collection grows before it is rewritten without outdated lines.
    var compactionSlack = 4 << 20

    public init() {}
}

/// A write that was done on the device and that the server refused. The object on the device has the server's state
/// again.
public struct OfflineFailure: Sendable {
    public let collection: String
    /// The id of the user who wrote it; nil if nobody was signed in.
    public let userID: String?
    public let write: PendingWrite
    /// The server's answer: ``MartletError/Code/preconditionFailed`` after a conflict that the server won.
    public let error: MartletError
}

/// Keeps objects on the device. Queries are answered at once, and writes wait until they can be sent.
///
/// ```swift
/// let events = try await martlet.offline.collection(Event.self, where: \.city == "Bern")
/// try await events.create(Event(title: "Match", city: "Bern"))        // works without a connection
/// for event in try await events.find(Event.query().order(by: \.title)) { print(event.title) }
/// try await events.sync()
/// ```
///
/// Each user has separate files. Objects that the app keeps while nobody is signed in have separate files, too.
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
    ///   - conflicts: How to handle changes to objects that were also changed on the server.
    ///
    /// All collections of a type share their state: the condition and policy of the last call also apply to the
    /// collections of earlier calls, and to waiting writes that were not sent yet.
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
                collection, userID: userID, in: subfolder(userID), configuration: api.configuration,
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

    /// The signed-in user's refused writes: the last 100 that were not reported yet, then each new one.
    ///
    /// Failures that were not reported are kept in memory only: call this when the app starts. The client's log has
    /// them, too.
    public func failures() -> AsyncStream<OfflineFailure> {
        let (stream, reader) = reports.stream()
        Task { [api, reports] in reports.deliver(to: reader, of: try await api.session.current()?.user.id) }
        return stream
    }

    /// Removes everything that is kept for the signed-in user, including writes that were not sent.
    ///
    /// Signing out removes nothing: users find their objects when they sign in again. Call this before
    /// ``Users/signOut()`` on devices that people share. Existing collections are then empty and refuse writes: call
    /// ``collection(_:where:conflicts:)`` again.
    public func removeAll() async throws {
        let userID = try await api.session.current()?.user.id
        var closed: Set<String> = []
        while let (key, store) = try stores.withLock({ try next(of: userID, except: closed, &$0) }) {
            await store.close(erases: true)
            closed.insert(key)
        }
        reports.forget(userID)
    }

    /// A user's store that is not closed yet. If there is none, the files are removed and the stores forgotten.
    ///
    /// The caller holds the lock of `stores`, so no store is opened while the files are removed.
    private func next(
        of userID: String?, except closed: Set<String>, _ stores: inout [String: OfflineStore]
    ) throws -> (key: String, store: OfflineStore)? {
        let open = stores.first { $0.value.userID == userID && !closed.contains($0.key) }
        if let open { return (open.key, open.value) }
        for key in closed { stores[key] = nil }
        let folder = subfolder(userID).url
        if FileManager.default.fileExists(atPath: folder.path) { try FileManager.default.removeItem(at: folder) }
        return nil
    }

    /// Closes all files as a crash would.
    func closeAll() async {
        for store in stores.withLock({ $0.values }) { await store.close() }
    }
}

/// Reports refused writes to the app. Keeps the latest of each user while the app does not listen.
final class OfflineReports: Sendable {
    private struct State {
        /// The reports not yet delivered, by user.
        var waiting: [String?: [OfflineFailure]] = [:]
    }

    private static let maximumCount = 100

    private let state = Locked(State())
    private let readers = Observers<OfflineFailure>()

    /// - Parameter isCurrent: Whether the write's user is signed in. If not, the failure is kept for that user.
    func report(_ failure: OfflineFailure, isCurrent: Bool) {
        state.withLock { state in
            if isCurrent, !readers.isEmpty {
                readers.yield(failure)
            } else {
                let waiting = state.waiting[failure.userID] ?? []
                state.waiting[failure.userID] = waiting.suffix(Self.maximumCount - 1) + [failure]
            }
        }
    }

    /// Delivers the waiting reports of a user.
    func deliver(to reader: AsyncStream<OfflineFailure>.Continuation, of userID: String?) {
        state.withLock { state in
            for failure in state.waiting.removeValue(forKey: userID) ?? [] { reader.yield(failure) }
        }
    }

    func forget(_ userID: String?) { state.withLock { $0.waiting[userID] = nil } }

    func stream() -> (AsyncStream<OfflineFailure>, AsyncStream<OfflineFailure>.Continuation) {
        let (stream, reader) = AsyncStream<OfflineFailure>.makeStream(
            bufferingPolicy: .bufferingNewest(Self.maximumCount))
        readers.add(reader)
        return (stream, reader)
    }
}
