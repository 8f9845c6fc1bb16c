import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres
import NIOCore

/// What the objects, files and roles of an app have of one of its users.
///
/// An object is the user's own when nobody else may write it: they are its only reader or writer, or the fields by
/// which the collection's rules let users change it name nobody else. Own ones are erased, through the change log like
/// any other deletion; where others have a part, the user is taken out and the object stays. Hooks `before…` are not
/// asked, `after…` are told.
///
/// Objects are found by indexes (`NamedObjects`), files by looking through them, `UserDataPlace` after place. A
/// collection whose index is not built yet is looked through, too.
struct StoredUserData: UserDataHolder {
    /// Rows that one transaction changes.
    static let rowsPerSlice = 500
    /// Rows that one statement looks at.
    static let rowsPerLook = 10_000
    static let exportedBytesPerCall = 1 << 20
    private static let timePerCall: Duration = .seconds(2)

    let postgres: PostgresClient
    let spaces: Spaces
    let rights: RightsStore
    let signal: ChangeSignal

    /// Whose data, and where.
    struct Owner: Sendable {
        var id: String
        var space: AppSpace

        /// - Throws: `invalid-body`.
        init(_ request: UserDataRequest) throws {
            let principal = Principal(
                kind: .service, appID: request.app, appNumber: 0, environment: request.environment, credentialID: "")
            guard let space = try? AppSpace(principal) else {
                throw HTTPProblem(.invalidBody, "This is no app's id.", field: "app")
            }
            guard let id = UserID(request.user) else {
                throw HTTPProblem(.invalidBody, "This is no user's id.", field: "user")
            }
            self.id = id.text
            self.space = space
        }
    }

    func erase(_ request: UserDataRequest) async throws -> UserErasure {
        var place = try UserDataPlace(request.after)
        let owner = try Owner(request)
        guard try await exists(owner.space) else { return UserErasure() }
        var erased: [String: Int] = [:]
        let end = ContinuousClock.now + Self.timePerCall
        repeat {
            let (counts, next) = try await eraseSlice(of: owner, at: place)
            erased.merge(counts.filter { $0.value > 0 }) { $0 + $1 }
            guard let next else { return UserErasure(erased: erased) }
            place = next
        } while ContinuousClock.now < end && erased.values.reduce(0, +) < Self.rowsPerSlice
        return UserErasure(erased: erased, next: place.token)
    }

    func export(_ request: UserDataRequest) async throws -> UserDataPortion {
        var place = try UserDataPlace(request.after)
        let owner = try Owner(request)
        guard try await exists(owner.space) else { return UserDataPortion() }
        var lines = ByteBuffer()
        let end = ContinuousClock.now + Self.timePerCall
        repeat {
            guard let next = try await exportSlice(of: owner, at: place, into: &lines) else {
                return UserDataPortion(lines: lines)
            }
            place = next
        } while ContinuousClock.now < end && lines.readableBytes < Self.exportedBytesPerCall
        return UserDataPortion(lines: lines, next: place.token)
    }

    /// Whether the app has anything here; nothing is made for a user who has not.
    private func exists(_ space: AppSpace) async throws -> Bool {
        try await !postgres.query("SELECT FROM storage.spaces WHERE schema = \(space.schema)").isEmpty
    }

    /// Erases what is at a place; returns how much, and the next place.
    private func eraseSlice(of owner: Owner, at place: UserDataPlace) async throws -> ([String: Int], UserDataPlace?) {
        switch place {
        case .roles: (try await eraseRolesAndUploads(of: owner), .collections(behind: ""))
        case .collections(let name): ([:], try await collection(behind: name, in: owner))
        case .objects(let collection, let id): try await eraseObjects(of: owner, in: collection, behind: id)
        case .files(let path): try await eraseFiles(of: owner, behind: path)
        case .history(let id): try await eraseHistory(of: owner, behind: id)
        }
    }

    private func exportSlice(of owner: Owner, at place: UserDataPlace, into lines: inout ByteBuffer) async throws
        -> UserDataPlace?
    {
        switch place {
        case .roles:
            try await exportRoles(of: owner, into: &lines)
            return .collections(behind: "")
        case .collections(let name): return try await collection(behind: name, in: owner)
        case .objects(let collection, let id):
            return try await exportObjects(of: owner, in: collection, behind: id, into: &lines)
        case .files(let path): return try await exportFiles(of: owner, behind: path, into: &lines)
        case .history: return nil
        }
    }

    private func collection(behind name: String, in owner: Owner) async throws -> UserDataPlace {
        let rows = try await run(
            "SELECT name FROM \(try owner.space.own("_collections")) WHERE name > \(name) ORDER BY name LIMIT 1", owner)
        return try rows.first.map { .objects(collection: try $0.decode(0), behind: "") } ?? .files(behind: "")
    }

    func run(_ statement: PostgresQuery, _ owner: Owner) async throws -> PostgresRows {
        var statement = statement
        // Each collection has its own, which hardly comes again.
        statement.isPrepared = false
        return try await spaces.query(statement, in: owner.space, on: postgres)
    }
}

/// Where a walk through all that an app has stored has come to.
enum UserDataPlace: Equatable, Sendable {
    case roles
    case collections(behind: String)
    case objects(collection: String, behind: String)
    case files(behind: String)
    /// Of uploads.
    case history(behind: Int64)

    /// - Parameter token: nil: the beginning.
    /// - Throws: `invalid-body`.
    init(_ token: String?) throws {
        guard let token else {
            self = .roles
            return
        }
        let parts = (Base64URL.decode(token).flatMap { String(bytes: $0, encoding: .utf8) } ?? "").components(
            separatedBy: "\n")
        switch (parts[0], parts.count) {
        case ("collections", 2): self = .collections(behind: parts[1])
        case ("objects", 3): self = .objects(collection: parts[1], behind: parts[2])
        case ("files", 2): self = .files(behind: parts[1])
        case ("history", 2):
            guard let id = Int64(parts[1]) else { fallthrough }
            self = .history(behind: id)
        default: throw HTTPProblem(.invalidBody, "This is no answer's next.", field: "after")
        }
    }

    /// What `init` takes; of letters that a header may have.
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
