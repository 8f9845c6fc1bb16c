/// A request method known to the gateway. Others are answered with 501.
enum Method: UInt8, CaseIterable {
    case get, head, post, put, patch, delete, options, connect, trace

    init?(_ bytes: UnsafeRawBufferPointer) {
        guard let method = Self.allCases.first(where: { bytes.elementsEqual($0.bytes) }) else { return nil }
        self = method
    }

    init?(name: String) {
        var name = name
        guard let method = name.withUTF8({ Method(UnsafeRawBufferPointer($0)) }) else { return nil }
        self = method
    }

    /// Whether the method is read-only (RFC 9110 §9.2.1).
    var isSafe: Bool {
        switch self {
        case .get, .head, .options, .trace: true
        case .post, .put, .patch, .delete, .connect: false
        }
    }

    var name: StaticString {
        switch self {
        case .get: "GET"
        case .head: "HEAD"
        case .post: "POST"
        case .put: "PUT"
        case .patch: "PATCH"
        case .delete: "DELETE"
        case .options: "OPTIONS"
        case .connect: "CONNECT"
        case .trace: "TRACE"
        }
    }

    private var bytes: UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount)
    }
}

/// A set of methods as a bit mask.
struct MethodSet {
    private var bits: UInt16 = 0

    var isEmpty: Bool { bits == 0 }

    /// The methods in the format of `Allow`: `GET, HEAD`.
    var names: String { Method.allCases.filter(contains).map { "\($0.name)" }.joined(separator: ", ") }

    @inline(__always)
    func contains(_ method: Method) -> Bool { bits >> UInt16(method.rawValue) & 1 == 1 }

    mutating func insert(_ method: Method) { bits |= 1 << UInt16(method.rawValue) }

    mutating func formUnion(_ other: MethodSet) { bits |= other.bits }

    func isDisjoint(with other: MethodSet) -> Bool { bits & other.bits == 0 }
}
