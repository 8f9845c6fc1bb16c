import Foundation
import MartletAPI
import MartletHTTP
import MartletPostgres

/// Name of an index or constraint in PostgreSQL: `_` and random digits.
///
/// Tables and indexes share the names of a schema. A collection's name begins with a letter, so no collection can be
/// made, read or renamed under the name of an index.
struct IndexName: Sendable {
    let text: String

    static func make() -> IndexName {
        IndexName(text: "_" + UUID().uuidString.filter { $0 != "-" }.lowercased())
    }

    /// Of an index that a job builds: known by its name while it has no comment yet.
    static func makeForJob() -> IndexName {
        IndexName(text: jobPrefix + make().text.dropFirst())
    }

    static let jobPrefix = "_b"

    /// Of the index on readers and writers that a job makes for a collection from before it.
    static func listed(_ job: UUID) -> IndexName {
        IndexName(text: listedPrefix + job.uuidString.filter { $0 != "-" }.lowercased())
    }

    static let listedPrefix = "_l"

    var identifier: PostgresIdentifier {
        get throws {
            guard let identifier = PostgresIdentifier(text) else { throw HTTPProblem(.internalError) }
            return identifier
        }
    }
}
