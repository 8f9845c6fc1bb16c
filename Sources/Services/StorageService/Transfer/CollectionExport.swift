import MartletAPI
import MartletCore
import MartletPostgres
import NIOCore

/// Writes a collection as a file, from a single snapshot, with only a portion of it in memory.
struct CollectionExport: Sendable {
    let format: TransferFormat
    let areHeadersTyped: Bool
    let collection: CollectionName
    let space: AppSchema

    var fileName: String { "\(collection.text).\(format.rawValue)" }

    /// Passes the file piece by piece to `write`; returns the number of objects.
    func run(
        on postgres: PostgresClient, progress: (Int) async throws -> Void = { _ in },
        _ write: (ByteBuffer) async throws -> Void
    ) async throws -> Int {
        let table = try space.table(collection)
        return try await postgres.withTransaction(isolation: .repeatableRead, readOnly: true, role: space.role) {
            transaction in
            let walk = CollectionWalk(transaction: transaction, table: table)
            var count = 0
            let csv = format == .csv ? try await self.table(walk) : nil
            try await write(ByteBuffer(string: csv?.header ?? (format == .json ? "[" : "")))
            try await walk.portions { rows in
                var piece = ByteBuffer()
                for row in rows {
                    if format == .json { piece.writeString(count == 0 ? "\n" : ",\n") }
                    if let csv {
                        piece.writeString(csv.line(try Self.object(row)))
                    } else {
                        row.withBytes(0) { bytes in _ = bytes.map { piece.writeBytes($0) } }
                        if format == .jsonl { piece.writeStaticString("\n") }
                    }
                    count += 1
                }
                try await write(piece)
                try await progress(count)
            }
            if format == .json { try await write(ByteBuffer(string: "\n]\n")) }
            return count
        }
    }

    private func table(_ walk: CollectionWalk) async throws -> CSVTable {
        var shape = CSVTable.Shape()
        try await walk.portions { rows in
            for row in rows {
                guard case .object(let members) = try Self.object(row) else { continue }
                for member in members { shape.observeMember(member.name, member.value, depth: 1) }
            }
        }
        if shape.names.isEmpty { shape.observeMember(SystemField.id.rawValue, .string(""), depth: 1) }
        return try CSVTable(shape, areHeadersTyped: areHeadersTyped)
    }

    private static func object(_ row: PostgresRow) throws -> JSONValue {
        try row.withBytes(0) { try JSONValue(parsing: $0 ?? UnsafeRawBufferPointer(start: nil, count: 0)) }
    }
}
