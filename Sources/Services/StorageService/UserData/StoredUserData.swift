import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres
import NIOCore

/// The data of an app's user in objects, files and roles.
///
/// An object is the user's own if no one else may write it: they are its only reader or writer, or the fields through
/// which the collection's rules let users change it name no one else. Own objects are erased and recorded in the change
/// log like any other deletion. From other objects, only the user's id is removed. `before…` hooks are not
/// called, and `after…` hooks are.
///
/// Objects are found by indexes (`NamedObjects`), files by scanning, in the order of `UserDataPosition`. A collection
/// whose index is not built yet is scanned, too.
struct StoredUserData: UserDataHolder {
    /// The maximum number of rows changed by one transaction.
    static let rowsPerSlice = 500
    /// The maximum number of rows read by one statement.
    static let rowsPerScan = 10_000
    static let exportedBytesPerCall = 1 << 20
    private static let timePerCall: Duration = .seconds(2)

    let postgres: PostgresClient
    let spaces: Spaces
    let rights: RightsStore
    let signal: ChangeSignal

    /// The user and the space of their data.
    struct Owner: Sendable {
        var id: String
        var space: AppSchema

        /// - Throws: `invalid-body`.
        init(_ request: UserDataRequest) throws {
            let principal = Principal(
                kind: .service, appID: request.app, appNumber: 0, environment: request.environment, credentialID: "")
            guard let space = try? AppSchema(principal) else {
                throw ServiceError.unexpectedMember("app", expected: "an app's id", found: request.app)
            }
            guard let id = UserID(request.user) else {
                throw ServiceError.unexpectedMember("user", expected: "a user's id", found: request.user)
            }
            self.id = id.text
            self.space = space
        }
    }

    func erase(_ request: UserDataRequest) async throws -> UserErasure {
        var position = try UserDataPosition(request.after)
        let owner = try Owner(request)
        guard try await exists(owner.space) else { return UserErasure() }
        var erased: [String: Int] = [:]
        let end = ContinuousClock.now + Self.timePerCall
        repeat {
            let (counts, next) = try await eraseSlice(of: owner, at: position)
            erased.merge(counts.filter { $0.value > 0 }) { $0 + $1 }
            guard let next else { return UserErasure(erased: erased) }
            position = next
        } while ContinuousClock.now < end && erased.values.reduce(0, +) < Self.rowsPerSlice
        return UserErasure(erased: erased, next: position.token)
    }

    func export(_ request: UserDataRequest) async throws -> UserDataPortion {
        var position = try UserDataPosition(request.after)
        let owner = try Owner(request)
        guard try await exists(owner.space) else { return UserDataPortion() }
        var lines = ByteBuffer()
        let end = ContinuousClock.now + Self.timePerCall
        repeat {
            guard let next = try await exportSlice(of: owner, at: position, into: &lines) else {
                return UserDataPortion(lines: lines)
            }
            position = next
        } while ContinuousClock.now < end && lines.readableBytes < Self.exportedBytesPerCall
        return UserDataPortion(lines: lines, next: position.token)
    }

    /// Whether the app's space exists; it is not created for a user without data.
    private func exists(_ space: AppSchema) async throws -> Bool {
        try await !postgres.query("SELECT FROM storage.spaces WHERE schema = \(space.schema) AND version > 0").isEmpty
    }

    /// Erases a slice of the data at a position; returns the number of erased items and the next position.
    private func eraseSlice(
        of owner: Owner, at position: UserDataPosition
    ) async throws -> ([String: Int], UserDataPosition?) {
        switch position {
        case .roles:
            try await eraseDocument(of: owner)
            return (try await eraseRolesAndUploads(of: owner), .collections(after: ""))
        case .collections(let name): return ([:], try await collection(after: name, in: owner))
        case .objects(let collection, let id): return try await eraseObjects(of: owner, in: collection, after: id)
        case .files(let path): return try await eraseFiles(of: owner, after: path)
        case .history(let id): return try await eraseHistory(of: owner, after: id)
        }
    }

    private func exportSlice(of owner: Owner, at position: UserDataPosition, into lines: inout ByteBuffer) async throws
        -> UserDataPosition?
    {
        switch position {
        case .roles:
            try await exportRoles(of: owner, into: &lines)
            return .collections(after: "")
        case .collections(let name): return try await collection(after: name, in: owner)
        case .objects(let collection, let id):
            return try await exportObjects(of: owner, in: collection, after: id, into: &lines)
        case .files(let path): return try await exportFiles(of: owner, after: path, into: &lines)
        case .history: return nil
        }
    }

    private func collection(after name: String, in owner: Owner) async throws -> UserDataPosition {
        let rows = try await run(
            "SELECT name FROM \(try owner.space.own("_collections")) WHERE name > \(name) ORDER BY name LIMIT 1", owner)
        return try rows.first.map { .objects(collection: try $0.decode(0), after: "") } ?? .files(after: "")
    }

    func run(_ statement: PostgresQuery, _ owner: Owner) async throws -> PostgresRows {
        var statement = statement
        // The statement differs for each collection, so preparing it would not pay off.
        statement.isPrepared = false
        return try await spaces.query(statement, in: owner.space, on: postgres)
    }
}

/// A position in a walk through all of an app's stored data.
enum UserDataPosition: Equatable, Sendable {
    case roles
    case collections(after: String)
    case objects(collection: String, after: String)
    case files(after: String)
    /// The history of uploads.
    case history(after: Int64)

    /// - Parameter token: The position as text; nil for the beginning.
    /// - Throws: `invalid-body`.
    init(_ token: String?) throws {
        guard let token else {
            self = .roles
            return
        }
        let parts = (Base64URL.decode(token).flatMap { String(bytes: $0, encoding: .utf8) } ?? "").components(
            separatedBy: "\n")
        switch (parts[0], parts.count) {
        case ("collections", 2): self = .collections(after: parts[1])
        case ("objects", 3): self = .objects(collection: parts[1], after: parts[2])
        case ("files", 2): self = .files(after: parts[1])
        case ("history", 2):
            guard let id = Int64(parts[1]) else { fallthrough }
            self = .history(after: id)
        default: throw ServiceError(.invalidBody, "This cursor did not come from an earlier answer.", field: "after")
        }
    }

    /// The text that `init` reads, restricted to characters allowed in a header.
    var token: String {
        switch self {
        case .roles: Base64URL.encode("roles".utf8)
        case .collections(let name): Base64URL.encode("collections\n\(name)".utf8)
        case .objects(let collection, let id): Base64URL.encode("objects\n\(collection)\n\(id)".utf8)
        case .files(let path): Base64URL.encode("files\n\(path)".utf8)
        case .history(let id): Base64URL.encode("history\n\(id)".utf8)
        }
    }
}
