public import FoundationEssentials

/// A value that can be decoded from a cell of a result.
public protocol PostgresDecodable {
    /// Throws a `PostgresError` with code `.decoding` if the cell's type does not match.
    init(_ cell: PostgresCell) throws
}

/// One value of a result in PostgreSQL's binary format. Valid only during the call that receives it.
public struct PostgresCell {
    /// `nil` for NULL; for `jsonb`, the JSON text.
    public let bytes: UnsafeRawBufferPointer?
    public let type: PostgresType
    let column: String

    /// The bytes of a value that must not be NULL.
    public func value(_ wanted: Any.Type) throws -> UnsafeRawBufferPointer {
        guard let bytes else { throw PostgresError(.decoding, "column \(column) is NULL, expected \(wanted)") }
        return bytes
    }

    /// The error for a cell whose type cannot be decoded as `wanted`.
    public func mismatch(_ wanted: Any.Type) -> PostgresError {
        PostgresError(.decoding, "column \(column) of type \(type.rawValue) cannot be decoded as \(wanted)")
    }
}

extension Optional: PostgresDecodable where Wrapped: PostgresDecodable {
    public init(_ cell: PostgresCell) throws {
        self = cell.bytes == nil ? .none : .some(try Wrapped(cell))
    }
}

/// Decodes text, JSON, enums, `uuid` and `numeric` (with all digits). Cast other types to `text` in SQL.
extension String: PostgresDecodable {
    public init(_ cell: PostgresCell) throws {
        let bytes = try cell.value(Self.self)
        if cell.type.isText {
            self.init(decoding: bytes, as: UTF8.self)
        } else if cell.type == .uuid {
            self = try UUID(cell).uuidString.lowercased()
        } else if cell.type == .numeric, let numeric = PostgresNumeric(bytes) {
            self = numeric.description
        } else {
            throw cell.mismatch(Self.self)
        }
    }
}

extension Bool: PostgresDecodable {
    public init(_ cell: PostgresCell) throws {
        let bytes = try cell.value(Self.self)
        guard cell.type == .bool, bytes.count == 1 else { throw cell.mismatch(Self.self) }
        self = bytes[0] != 0
    }
}

extension Int64: PostgresDecodable {
    public init(_ cell: PostgresCell) throws {
        let bytes = try cell.value(Self.self)
        switch (cell.type, bytes.count) {
        case (.int8, 8): self = bytes.bigEndian(Int64.self)
        case (.int4, 4): self = Int64(bytes.bigEndian(Int32.self))
        case (.int2, 2): self = Int64(bytes.bigEndian(Int16.self))
        case (.oid, 4): self = Int64(bytes.bigEndian(UInt32.self))
        case (.numeric, _):
            guard let numeric = PostgresNumeric(bytes), let whole = Int64(numeric.description) else {
                throw cell.mismatch(Self.self)
            }
            self = whole
        default: throw cell.mismatch(Self.self)
        }
    }
}

extension Int: PostgresDecodable {
    public init(_ cell: PostgresCell) throws { self = Int(try Int64(cell)) }
}

extension Int32: PostgresDecodable {
    public init(_ cell: PostgresCell) throws {
        guard let value = Int32(exactly: try Int64(cell)) else { throw cell.mismatch(Self.self) }
        self = value
    }
}

extension Int16: PostgresDecodable {
    public init(_ cell: PostgresCell) throws {
        guard let value = Int16(exactly: try Int64(cell)) else { throw cell.mismatch(Self.self) }
        self = value
    }
}

extension Double: PostgresDecodable {
    public init(_ cell: PostgresCell) throws {
        let bytes = try cell.value(Self.self)
        switch (cell.type, bytes.count) {
        case (.float8, 8): self.init(bitPattern: bytes.bigEndian(UInt64.self))
        case (.float4, 4): self.init(Float(bitPattern: bytes.bigEndian(UInt32.self)))
        case (.numeric, _):
            guard let numeric = PostgresNumeric(bytes), let value = Double(numeric.description) else {
                throw cell.mismatch(Self.self)
            }
            self = value
        default: throw cell.mismatch(Self.self)
        }
    }
}

extension UUID: PostgresDecodable {
    public init(_ cell: PostgresCell) throws {
        let bytes = try cell.value(Self.self)
        guard cell.type == .uuid, bytes.count == 16 else { throw cell.mismatch(Self.self) }
        self.init(uuid: bytes.loadUnaligned(as: uuid_t.self))
    }
}

/// Decodes `timestamptz`, and `timestamp` and `date` as UTC. Infinities become `.distantPast` and `.distantFuture`.
extension Date: PostgresDecodable {
    public init(_ cell: PostgresCell) throws {
        let bytes = try cell.value(Self.self)
        switch (cell.type, bytes.count) {
        case (.timestamptz, 8), (.timestamp, 8):
            self = PostgresTimestamp(microseconds: bytes.bigEndian(Int64.self)).date
        case (.date, 4):
            switch bytes.bigEndian(Int32.self) {
            case .max: self = .distantFuture
            case .min: self = .distantPast
            case let days: self = PostgresTimestamp(microseconds: Int64(days) * 86_400_000_000).date
            }
        default: throw cell.mismatch(Self.self)
        }
    }
}

/// Decodes the bytes of `bytea`, text and JSON.
extension Data: PostgresDecodable {
    public init(_ cell: PostgresCell) throws {
        let bytes = try cell.value(Self.self)
        guard cell.type == .bytea || cell.type.isText else { throw cell.mismatch(Self.self) }
        self.init(bytes)
    }
}

/// `[UInt8]` decodes the same types as `Data`; other element types decode one-dimensional arrays without NULL.
extension Array: PostgresDecodable where Element: PostgresArrayDecodable {
    public init(_ cell: PostgresCell) throws { self = try Element.decodeArray(cell) }
}

/// An element type that can be decoded from an array.
public protocol PostgresArrayDecodable {
    static func decodeArray(_ cell: PostgresCell) throws -> [Self]
}

extension UInt8: PostgresArrayDecodable {
    public static func decodeArray(_ cell: PostgresCell) throws -> [UInt8] {
        let bytes = try cell.value([UInt8].self)
        guard cell.type == .bytea || cell.type.isText else { throw cell.mismatch([UInt8].self) }
        return Array(bytes)
    }
}

extension String: PostgresArrayDecodable {}
extension Int: PostgresArrayDecodable {}
extension Int64: PostgresArrayDecodable {}
extension Int32: PostgresArrayDecodable {}
extension Double: PostgresArrayDecodable {}
extension Bool: PostgresArrayDecodable {}
extension UUID: PostgresArrayDecodable {}
extension Date: PostgresArrayDecodable {}
extension Optional: PostgresArrayDecodable where Wrapped: PostgresDecodable {}

extension PostgresArrayDecodable where Self: PostgresDecodable {
    /// See `PostgresArrayElement.encodeArray` for the layout.
    public static func decodeArray(_ cell: PostgresCell) throws -> [Self] {
        var reader = ByteReader(try cell.value([Self].self))
        guard let dimensions = reader.read(Int32.self), reader.read(Int32.self) != nil,
            let type = reader.read(UInt32.self)
        else {
            throw cell.mismatch([Self].self)
        }
        guard dimensions != 0 else { return [] }
        guard dimensions == 1, let count = reader.read(Int32.self), reader.read(Int32.self) != nil, count >= 0 else {
            throw cell.mismatch([Self].self)
        }
        var elements: [Self] = []
        elements.reserveCapacity(Swift.min(Int(count), reader.remaining))
        for _ in 0..<count {
            guard let size = reader.read(Int32.self), let element = reader.read(count: Int(size)) else {
                throw cell.mismatch([Self].self)
            }
            elements.append(
                try Self(
                    PostgresCell(
                        bytes: size < 0 ? nil : element, type: PostgresType(rawValue: type), column: cell.column)))
        }
        return elements
    }
}
