import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

/// The space whose files a request is about, with the caller's identity.
struct FileScope: Sendable {
    let space: AppSchema
    let rights: Rights
    private let principal: Principal

    init(_ space: AppSchema, _ rights: Rights, of principal: Principal) {
        self.space = space
        self.rights = rights
        self.principal = principal
    }

    var identity: Identity { rights.identity }
    /// Decides what an absent list of readers or writers means: everyone, or only the master key.
    var spaceAccess: SpaceAccess { rights.spaceAccess }
    var credentialID: String { principal.credentialID }

    /// The same scope with the caller's current rights, for a write after receiving a body, during which they may have
    /// changed.
    func refreshed(_ store: RightsStore) async throws -> FileScope {
        guard !store.isCurrent(rights) else { return self }
        return FileScope(space, try await store.rights(of: principal, in: space), of: principal)
    }

    /// The scope that passes a check: this one or, if the check refuses it and the database has other rights of the
    /// caller, one with those. Another copy may just have allowed the upload.
    ///
    /// - Throws: The errors of `check`.
    func passing(_ store: RightsStore, _ check: (FileScope) async throws -> Void) async throws -> FileScope {
        do {
            try await check(self)
            return self
        } catch let refusal as ServiceError where refusal.code == .forbidden {
            guard let current = try await store.newer(than: rights, of: principal, in: space) else { throw refusal }
            let scope = FileScope(space, current, of: principal)
            try await check(scope)
            return scope
        }
    }

    /// The condition under which a row of `_files` or `_uploads` is visible. The master key sees everything.
    var readable: PostgresQuery { listed("readers") }

    /// The same condition for a named row, for statements in which the column would be ambiguous.
    func readable(of row: StaticString) -> PostgresQuery { listed("readers", of: row) }

    /// The condition under which a row of `_files` may be changed, which includes that it is visible.
    var writable: PostgresQuery { "(\(readable) AND \(listed("writers")))" }

    /// The same condition for a named row, for statements in which the column would be ambiguous.
    func writable(of row: StaticString) -> PostgresQuery {
        "(\(listed("readers", of: row)) AND \(listed("writers", of: row)))"
    }

    private func listed(_ column: StaticString, of row: StaticString? = nil) -> PostgresQuery {
        guard identity != .master else { return "TRUE" }
        let name: PostgresQuery = row.map { "\(unescaped: $0).\(unescaped: column)" } ?? "\(unescaped: column)"
        // Must not be null, because callers also negate the condition.
        guard spaceAccess == .open else { return "coalesce(\(name) && \(identity.names), FALSE)" }
        return "(\(name) IS NULL OR \(name) && \(identity.names))"
    }

    /// Whether the caller may store a file at a path that has none.
    var mayCreate: Bool { identity != .anonymous || spaceAccess == .open }

    /// The readers and writers of a new file for which the request gives none; nil for no list.
    var defaultList: [String]? { spaceAccess == .open ? nil : identity.userID.map { [$0] } }
}

extension ServiceContext {
    /// - Throws: `unauthorized`; `forbidden` for a client if the environment is closed to clients.
    func fileScope(_ rights: RightsStore) async throws -> FileScope {
        let (principal, space) = (try principal, try space)
        return FileScope(space, try await rights.rights(of: principal, in: space, for: [:]), of: principal)
    }
}

/// The readers and writers given in an upload. Nil keeps those of an existing file; a new one is open to everyone, or
/// in a closed space to the uploader.
struct FileGrants: Sendable {
    var readers: [String]?
    var writers: [String]?

    /// Parses the query: `readers=*,role:editors&writers=u1`. An empty list only admits the master key.
    ///
    /// - Throws: `invalid-body`, `limit-exceeded`, both naming the parameter.
    init(_ request: Request) throws {
        let parameters = request.uri.queryParameters
        self.init(
            readers: try Self.list(parameters["readers"], field: "readers"),
            writers: try Self.list(parameters["writers"], field: "writers"))
    }

    init(readers: [String]?, writers: [String]?) {
        (self.readers, self.writers) = (readers, writers)
    }

    static func list(_ text: (some StringProtocol)?, field: String) throws -> [String]? {
        try text.map {
            try Grantee.checked(String($0).components(separatedBy: ",").filter { !$0.isEmpty }, field: field)
        }
    }
}
