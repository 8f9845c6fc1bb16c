import CLibPQ

/// One row of a result.
public struct PostgresRow: Sendable {
    let result: PostgresResult
    let index: Int

    public var columnCount: Int { result.columnCount }

    /// Decodes the cell in the column with this index, starting at 0. Throws `.decoding` if there is no such column, or
    /// if the cell is NULL or of another type.
    public func decode<T: PostgresDecodable>(_ column: Int, as type: T.Type = T.self) throws -> T {
        guard (0..<result.columnCount).contains(column) else {
            throw PostgresError(.decoding, "no column \(column) in a row with \(result.columnCount) columns")
        }
        return try T(
            PostgresCell(
                bytes: result.bytes(index, column), type: result.type(column), column: result.columnName(column)))
    }

    /// Decodes the cell in the first column with exactly this name.
    public func decode<T: PostgresDecodable>(_ column: String, as type: T.Type = T.self) throws -> T {
        guard let number = number(of: column) else { throw PostgresError(.decoding, "no column named \(column)") }
        return try decode(number, as: type)
    }

    /// Calls `body` with a cell's bytes without copying them: text and JSON as UTF-8, other types in binary format,
    /// `nil` for NULL.
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

/// Whether a C string equals `name`.
private func isEqual(_ string: UnsafePointer<CChar>, _ name: UnsafeBufferPointer<UInt8>) -> Bool {
    for (offset, byte) in name.enumerated() where byte == 0 || UInt8(bitPattern: string[offset]) != byte {
        return false
    }
    return string[name.count] == 0
}
