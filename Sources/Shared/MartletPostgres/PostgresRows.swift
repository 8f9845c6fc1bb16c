import CLibPQ

/// The rows of a result. Cells are read from libpq's memory without copying; rows keep that memory alive.
public struct PostgresRows: Sendable, RandomAccessCollection {
    let result: PostgresResult

    public var startIndex: Int { 0 }
    public var endIndex: Int { result.rowCount }

    public subscript(position: Int) -> PostgresRow {
        precondition(position >= 0 && position < result.rowCount, "row index out of range")
        return PostgresRow(result: result, index: position)
    }

    /// Number of rows that the statement inserted, changed, deleted or returned.
    public var affectedRows: Int {
        guard let text = PQcmdTuples(result.pointer) else { return 0 }
        return Int(String(cString: text)) ?? 0
    }

    /// The statement's completion tag, such as `INSERT 0 1`.
    var commandTag: String {
        PQcmdStatus(result.pointer).map { String(cString: $0) } ?? ""
    }

    public var columnNames: [String] {
        (0..<result.columnCount).map { result.columnName($0) }
    }
}

/// Owns a `PGresult`.
///
/// `@unchecked Sendable`: a `PGresult` is never modified after libpq has returned it, and libpq documents that it may
/// then be passed freely between threads.
final class PostgresResult: @unchecked Sendable {
    let pointer: OpaquePointer
    let rowCount: Int
    let columnCount: Int

    init(_ pointer: OpaquePointer) {
        self.pointer = pointer
        rowCount = Int(PQntuples(pointer))
        columnCount = Int(PQnfields(pointer))
    }

    deinit { PQclear(pointer) }

    func columnName(_ column: Int) -> String {
        PQfname(pointer, Int32(column)).map { String(cString: $0) } ?? ""
    }

    func type(_ column: Int) -> PostgresType {
        PostgresType(rawValue: PQftype(pointer, Int32(column)))
    }

    func bytes(_ row: Int, _ column: Int) -> UnsafeRawBufferPointer? {
        let row = Int32(row), column = Int32(column)
        guard PQgetisnull(pointer, row, column) == 0, let start = PQgetvalue(pointer, row, column) else { return nil }
        let bytes = UnsafeRawBufferPointer(start: start, count: Int(PQgetlength(pointer, row, column)))
        guard PQftype(pointer, column) == PostgresType.jsonb.rawValue, !bytes.isEmpty else { return bytes }
        return UnsafeRawBufferPointer(rebasing: bytes.dropFirst())
    }
}
