import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

/// Whose files, and who asks.
struct FileScope: Sendable {
    let space: AppSpace
    let identity: Identity
    let credentialID: String

    /// What a row of `_files` or `_uploads` must satisfy to be shown; everything to a master.
    var readable: PostgresQuery { listed("readers") }

    /// The same of a row that has a name, where columns of others could be meant.
    func readable(of row: StaticString) -> PostgresQuery { listed("readers", of: row) }

    /// What a row of `_files` must satisfy to be changed: to be seen, too.
    var writable: PostgresQuery { "(\(readable) AND \(listed("writers")))" }

    /// The same of a row that has a name, where columns of others could be meant.
    func writable(of row: StaticString) -> PostgresQuery {
        "(\(listed("readers", of: row)) AND \(listed("writers", of: row)))"
    }

    private func listed(_ column: StaticString, of row: StaticString? = nil) -> PostgresQuery {
        guard identity != .master else { return "TRUE" }
        let name: PostgresQuery = row.map { "\(unescaped: $0).\(unescaped: column)" } ?? "\(unescaped: column)"
        return "(\(name) IS NULL OR \(name) && \(identity.names))"
    }
}

extension ServiceContext {
    /// - Throws: `unauthorized`, `forbidden` for keys that are not for data.
    func fileScope(_ rights: RightsStore) async throws -> FileScope {
        let (principal, space) = (try principal, try space)
        return FileScope(
            space: space, identity: try await rights.rights(of: principal, in: space).identity,
            credentialID: principal.credentialID)
    }
}

/// Who may read and write a file, as an upload says; nil: what the file has, or everyone.
struct FileGrants: Sendable {
    var readers: [String]?
    var writers: [String]?

    /// From the query: `readers=*,role:editors&writers=u1`; an empty list is nobody but the master key.
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
