import MartletCore
import MartletFiles
import MartletPostgres
import NIOCore

/// Whether a file may be read.
struct FileVerdict: Sendable {
    /// The maximum length of a reason, in Unicode scalars.
    static let maximumReason = 500

    let isAllowed: Bool
    /// Why the file is refused.
    let reason: String?

    /// - Parameter reason: Shortened to `maximumReason`, without control characters.
    init(isAllowed: Bool, reason: String?) {
        self.isAllowed = isAllowed
        self.reason =
            isAllowed
            ? nil
            : reason.map { text in
                String(
                    text.unicodeScalars.filter { $0.properties.generalCategory != .control }.prefix(Self.maximumReason))
            }
    }

    /// Parses `{"allow":false,"reason":"…"}`. Nil without a verdict.
    init?(_ answer: ByteBuffer) {
        guard let value = try? JSONValue(parsing: answer.readableBytesView),
            case .bool(let isAllowed)? = value["allow"]
        else { return nil }
        let reason: String? = if case .string(let text)? = value["reason"] { text } else { nil }
        self.init(isAllowed: isAllowed, reason: reason)
    }
}

/// Makes files readable, or removes the bytes of refused ones. `OrphanFileSweep` deletes the bytes later, so that a
/// backup or copy that has begun still finds them.
struct FileVerdicts: Sendable {
    let files: FileStore

    /// The first cell of the answer is the file's record. There is no row if no file has the path, the file does not
    /// fulfil the condition, or it was refused before.
    ///
    /// - Parameter condition: About the columns of `_files`.
    @discardableResult
    func apply(_ verdict: FileVerdict, to path: FilePath, if condition: PostgresQuery, in space: AppSchema) async throws
        -> PostgresRows
    {
        let table = try space.own("_files")
        // A refused file gets the name of a blob that does not exist, so that its own blob becomes an orphan.
        let none = BlobName.random(in: space.schema)
        return try await files.run(
            """
            WITH \(try files.room(at: path, in: space)),
            found AS (
                SELECT path FROM \(table)
                WHERE EXISTS (SELECT FROM room) AND path = \(path.text) AND state IS DISTINCT FROM 'refused' AND \(condition) FOR UPDATE),
            decided AS (
                UPDATE \(table) AS f SET
                    state = CASE WHEN \(verdict.isAllowed) THEN NULL ELSE 'refused' END, reason = \(verdict.reason)::text,
                    blob = CASE WHEN \(verdict.isAllowed) THEN f.blob ELSE \(none.id) END,
                    size = CASE WHEN \(verdict.isAllowed) THEN f.size ELSE 0 END
                FROM found WHERE f.path = found.path RETURNING f.*)
            SELECT \(FileStore.record(for: .master)) FROM decided
            """, in: space)
    }
}
