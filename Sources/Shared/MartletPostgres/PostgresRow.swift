import CLibPQ

/// One row of a result.
public struct PostgresRow: Sendable {
    let result: PostgresResult
    let index: Int

    public var columnCount: Int { result.columnCount }

    /// Reads a cell by the column's number, from 0. Throws `.decoding` when it is not there, NULL or of another type.
    public func decode<T: PostgresDecodable>(_ column: Int, as type: T.Type = T.self) throws -> T {
        guard (0..<result.columnCount).contains(column) else {
            throw PostgresError(.decoding, "no column \(column) in a row of \(result.columnCount)")
        }
        return try T(
            PostgresCell(bytes: result.bytes(index, column), type: result.type(column), column: result.columnName(column)))
    }

    /// Reads a cell by the column's name, exactly as written; the first one when several have it.
    public func decode<T: PostgresDecodable>(_ column: String, as type: T.Type = T.self) throws -> T {
        guard let number = number(of: column) else { throw PostgresError(.decoding, "no column \(column)") }
        return try decode(number, as: type)
    }

    /// Lends a cell's bytes without copying them, `nil` for NULL: text and JSON as UTF-8, other types in binary format.
    public func withBytes<R, E: Error>(_ column: Int, _ body: (UnsafeRawBufferPointer?) throws(E) -> R) throws(E) -> R {
        precondition(column >= 0 && column < result.columnCount, "column index out of range")
        defer { withExtendedLifetime(result) {} }
        return try body(result.bytes(index, column))
    }

    private func number(of column: String) -> Int? {
        var column = column
        return column.withUTF8 { name in
            (0..<result.columnCount).first { number in
                guard let other = PQfname(result.pointer, Int32(number)) else { return false }
                return isEqual(other, name)
            }
        }
    }
}

/// Whether a C string is exactly `name`.
private func isEqual(_ string: UnsafePointer<CChar>, _ name: UnsafeBufferPointer<UInt8>) -> Bool {
    for (offset, byte) in name.enumerated() where byte == 0 || UInt8(bitPattern: string[offset]) != byte { return false }
    return string[name.count] == 0
}
