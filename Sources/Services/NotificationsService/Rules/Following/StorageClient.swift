import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres
import NIOCore

/// Storage's change log and objects, as rules need them.
final class StorageClient: Sendable {
    static let pageSize = 100
    private static let maximumPageSizeInBytes = 24 << 20
    private static let maximumLookUpSizeInBytes = 12 << 20

    private let storage: ServiceAddress
    private let timeout: Duration
    private let calls: ServiceCalls

    /// - Parameter calls: Must not be shared, because waiting for changes occupies a connection.
    init(_ settings: RuleSettings, calls: ServiceCalls) {
        storage = settings.storage
        timeout = settings.storageTimeout
        self.calls = calls
    }

    struct Page: Sendable {
        /// In the order of the log.
        var changes: [JSONValue]
        var cursor: String
        /// Storage's time in RFC 3339, taken before it read the log.
        var now: String
        var hasMore: Bool
        /// Whether the requested cursor is not part of this log. `cursor` is then the end of the log.
        var isExpired: Bool
        var lost: [Lost]
    }

    /// A collection with a gap in its log after the cursor, up to a transaction. Reported until the cursor is past the
    /// gap.
    struct Lost: Sendable {
        var collection: String
        var transaction: String
    }

    /// - Parameter cursor: Nil stands for the end of the log.
    /// - Throws: As `ServiceCalls.post`.
    func page(of collections: [String], after cursor: String?, waiting seconds: Int, in space: Space) async throws
        -> Page
    {
        let body = ChangesRequest(
            app: space.appID, environment: space.environment.rawValue, collections: collections, after: cursor,
            limit: Self.pageSize,
            waitSeconds: seconds)
        let answer = try await calls.post(
            "/internal/changes", body, to: storage, upTo: Self.maximumPageSizeInBytes,
            within: .seconds(seconds) + timeout)
        // An object is nested in a change, in a list of changes, in the answer.
        let json = try JSONValue(parsing: answer.body.readableBytesView, within: 3)
        guard case .array(let changes) = json["changes"], case .string(let cursor) = json["cursor"],
            case .string(let now) = json["now"]
        else {
            throw ServiceCalls.Failure.status(200, service: storage.name)
        }
        return Page(
            changes: changes, cursor: cursor, now: now, hasMore: json["more"] == .bool(true),
            isExpired: json["expired"] == .bool(true),
            lost: Self.lost(json["lost"]))
    }

    private static func lost(_ json: JSONValue?) -> [Lost] {
        guard case .array(let elements) = json else { return [] }
        return elements.compactMap { element in
            guard case .string(let collection) = element["collection"],
                case .string(let transaction) = element["transaction"]
            else { return nil }
            return Lost(collection: collection, transaction: transaction)
        }
    }

    private struct ChangesRequest: Encodable {
        var app: String
        var environment: String
        var collections: [String]
        var after: String?
        var limit: Int
        var waitSeconds: Int
    }

    struct Object: Encodable, Hashable {
        var collection: String
        var id: String
        /// Nil means all fields.
        var keys: [String]?
    }

    struct Relation: Encodable, Hashable {
        var collection: String
        var id: String
        var field: String
    }

    /// Reads objects (null if missing) and the member ids of relations, in the requested order.
    func lookUp(_ objects: [Object], _ relations: [Relation], in space: Space) async throws -> (
        objects: [JSONValue], relations: [[String]]
    ) {
        guard !objects.isEmpty || !relations.isEmpty else { return ([], []) }
        let body = LookUp(
            app: space.appID, environment: space.environment.rawValue, objects: objects, relations: relations)
        let answer = try await calls.post(
            "/internal/objects", body, to: storage, upTo: Self.maximumLookUpSizeInBytes, within: timeout)
        let json = try JSONValue(parsing: answer.body.readableBytesView, within: 2)
        guard case .array(let found) = json["objects"], case .array(let lists) = json["relations"],
            found.count == objects.count,
            lists.count == relations.count
        else { throw ServiceCalls.Failure.status(200, service: storage.name) }
        let members = lists.map { list -> [String] in
            guard case .array(let ids) = list else { return [] }
            return ids.compactMap { if case .string(let id) = $0 { id } else { nil } }
        }
        return (found, members)
    }

    /// The users who have blocked a user.
    func blockers(of user: String, in space: Space) async throws -> [String] {
        let body = UserDataRequest(app: space.appID, environment: space.environment, user: user)
        let answer = try await calls.post(
            "/internal/users/blockers", body, to: storage, upTo: Self.maximumPageSizeInBytes, within: timeout)
        return try JSONDecoder().decode(UserBlockers.self, from: Data(answer.body.readableBytesView)).blockers
    }

    private struct LookUp: Encodable {
        var app: String
        var environment: String
        var objects: [Object]
        var relations: [Relation]
    }
}
