import Foundation
import MartletAPI
import MartletCore
import MartletPostgres

/// The name of an index or constraint in PostgreSQL: `_` and random digits.
///
/// Tables and indexes share a schema's namespace. Collection names begin with a letter, so no collection can be
/// created, read or renamed under the name of an index.
struct IndexName: Sendable {
    let text: String

    static func make() -> IndexName {
        IndexName(text: "_" + UUID().uuidString.filter { $0 != "-" }.lowercased())
    }

    /// The name of an index built by a job, by which it can be identified while it has no comment.
    static func makeForJob() -> IndexName {
        IndexName(text: jobPrefix + make().text.dropFirst())
    }

    static let jobPrefix = "_b"

    /// The name of the index on readers and writers that a job adds to an older collection.
    static func listed(_ job: UUID) -> IndexName {
        IndexName(text: listedPrefix + job.uuidString.filter { $0 != "-" }.lowercased())
    }

    static let listedPrefix = "_l"

    var identifier: PostgresIdentifier {
        get throws {
            guard let identifier = PostgresIdentifier(text) else { throw ServiceError(.internalError) }
            return identifier
        }
    }
}
