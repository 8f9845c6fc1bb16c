import Foundation
import MartletAPI
import MartletCore
import MartletPostgres

/// The name of an index or constraint in PostgreSQL: `_` or a prefix that begins with it, then hexadecimal digits.
///
/// Tables and indexes share a schema's namespace. Collection names begin with a letter, so no collection can be
/// created, read or renamed under the name of an index.
struct IndexName: Sendable {
    let text: String

    static func make() -> IndexName {
        IndexName(text: "_" + UUID().uuidString.filter { $0 != "-" }.lowercased())
    }

    /// The name of an index that a job builds. `IndexSweep` finds an unfinished one by the prefix and by its missing
    /// `COMMENT ON INDEX`.
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
