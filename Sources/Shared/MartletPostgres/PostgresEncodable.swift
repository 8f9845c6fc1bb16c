public import FoundationEssentials

/// A value that can be bound to a query.
public protocol PostgresEncodable: Sendable {
    static var postgresType: PostgresType { get }

    /// Appends the value in the binary format of `postgresType`.
    func encode(into bytes: inout [UInt8])
}

extension String: PostgresEncodable {
    public static var postgresType: PostgresType { .text }

    public func encode(into bytes: inout [UInt8]) { bytes.append(contentsOf: utf8) }
}

extension Bool: PostgresEncodable {
    public static var postgresType: PostgresType { .bool }

    public func encode(into bytes: inout [UInt8]) { bytes.append(self ? 1 : 0) }
}

extension Int: PostgresEncodable {
    public static var postgresType: PostgresType { .int8 }

    public func encode(into bytes: inout [UInt8]) { bytes.appendBigEndian(Int64(self)) }
}

extension Int64: PostgresEncodable {
    public static var postgresType: PostgresType { .int8 }

    public func encode(into bytes: inout [UInt8]) { bytes.appendBigEndian(self) }
}

extension Int32: PostgresEncodable {
    public static var postgresType: PostgresType { .int4 }

    public func encode(into bytes: inout [UInt8]) { bytes.appendBigEndian(self) }
}

extension Int16: PostgresEncodable {
    public static var postgresType: PostgresType { .int2 }

    public func encode(into bytes: inout [UInt8]) { bytes.appendBigEndian(self) }
}

extension Double: PostgresEncodable {
    public static var postgresType: PostgresType { .float8 }

    public func encode(into bytes: inout [UInt8]) { bytes.appendBigEndian(bitPattern) }
}

extension UUID: PostgresEncodable {
    public static var postgresType: PostgresType { .uuid }

    public func encode(into bytes: inout [UInt8]) {
        withUnsafeBytes(of: uuid) { bytes.append(contentsOf: $0) }
    }
}

/// Encodes a `timestamptz` with microseconds. `.distantPast` and `.distantFuture` become `-infinity` and `infinity`.
extension Date: PostgresEncodable {
    public static var postgresType: PostgresType { .timestamptz }

    public func encode(into bytes: inout [UInt8]) { bytes.appendBigEndian(PostgresTimestamp(self).microseconds) }
}

extension Data: PostgresEncodable {
    public static var postgresType: PostgresType { .bytea }

    public func encode(into bytes: inout [UInt8]) { bytes.append(contentsOf: self) }
}

/// `[UInt8]` is bound as `bytea`, other arrays as arrays of their element's type.
extension Array: PostgresEncodable where Element: PostgresArrayElement {
    public static var postgresType: PostgresType { Element.postgresArrayType }

    public func encode(into bytes: inout [UInt8]) { Element.encodeArray(self, into: &bytes) }
}

/// An element type that has a PostgreSQL array type.
public protocol PostgresArrayElement: Sendable {
    static var postgresArrayType: PostgresType { get }

    static func encodeArray(_ elements: [Self], into bytes: inout [UInt8])
}

extension UInt8: PostgresArrayElement {
    public static var postgresArrayType: PostgresType { .bytea }

    public static func encodeArray(_ elements: [UInt8], into bytes: inout [UInt8]) {
        bytes.append(contentsOf: elements)
    }
}

extension String: PostgresArrayElement {
    public static var postgresArrayType: PostgresType { .textArray }
}

extension Int: PostgresArrayElement {
    public static var postgresArrayType: PostgresType { .int8Array }
}

extension UUID: PostgresArrayElement {
    public static var postgresArrayType: PostgresType { .uuidArray }
}

extension PostgresArrayElement where Self: PostgresEncodable {
    /// One dimension with lower bound 1: `ndim, hasNulls, type, (length, lowerBound), (size, value)…`. See
    /// `array_recv` in arrayfuncs.c.
    public static func encodeArray(_ elements: [Self], into bytes: inout [UInt8]) {
        bytes.appendBigEndian(Int32(elements.isEmpty ? 0 : 1))
        bytes.appendBigEndian(Int32(0))
        bytes.appendBigEndian(postgresType.rawValue)
        guard !elements.isEmpty else { return }
        bytes.appendBigEndian(Int32(elements.count))
        bytes.appendBigEndian(Int32(1))
        for element in elements {
            let start = bytes.count
            bytes.appendBigEndian(Int32(0))
            element.encode(into: &bytes)
            bytes.setBigEndian(Int32(bytes.count - start - 4), at: start)
        }
    }
}

extension [UInt8] {
    mutating func appendBigEndian(_ value: some FixedWidthInteger) {
        Swift.withUnsafeBytes(of: value.bigEndian) { append(contentsOf: $0) }
    }

    mutating func setBigEndian(_ value: Int32, at index: Int) {
        Swift.withUnsafeBytes(of: value.bigEndian) { replaceSubrange(index..<index + 4, with: $0) }
    }
}
