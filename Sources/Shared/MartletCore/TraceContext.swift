import Synchronization

/// The place of a request in a distributed trace: the trace's id, and the id of the span that stands for the request.
///
/// Source: W3C Trace Context, level 1.
public struct TraceContext: Sendable, Equatable {
    public static let headerName = "traceparent"

    /// Not 0.
    public let traceID: UInt128
    /// Not 0.
    public let spanID: UInt64
    /// Whether the span is sent to the collector.
    public let isSampled: Bool

    /// A new trace that is sent to the collector.
    public init() {
        self.init(traceID: .random(in: 1 ... .max))
    }

    private init(traceID: UInt128) {
        self.traceID = traceID
        spanID = .random(in: 1 ... .max)
        isSampled = true
    }

    /// The value of a `traceparent` header; nil if it is invalid.
    public init?(traceparent: String) {
        let parts = traceparent.split(separator: "-", maxSplits: 4, omittingEmptySubsequences: false)
        guard parts.count >= 4, let version: UInt8 = Self.number(parts[0]), version != 0xff,
            // Later versions may add fields.
            version > 0 || parts.count == 4,
            let traceID: UInt128 = Self.number(parts[1]), traceID != 0,
            let spanID: UInt64 = Self.number(parts[2]), spanID != 0,
            let flags: UInt8 = Self.number(parts[3])
        else { return nil }
        self.traceID = traceID
        self.spanID = spanID
        isSampled = flags & 1 == 1
    }

    /// A span of the same trace, to be sent to the collector.
    public func child() -> TraceContext { TraceContext(traceID: traceID) }

    /// The value of the header `traceparent`.
    public var traceparent: String {
        "00-\(Self.hexadecimal(traceID))-\(Self.hexadecimal(spanID))-\(isSampled ? "01" : "00")"
    }

    /// The number as lower-case hexadecimal digits, with leading zeros.
    public static func hexadecimal(_ number: some FixedWidthInteger & UnsignedInteger) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: number.bitWidth / 4 - digits.utf8.count) + digits
    }

    /// Parses lower-case digits, exactly as many as the type has.
    private static func number<Number: FixedWidthInteger>(_ digits: Substring) -> Number? {
        guard digits.utf8.count == Number.bitWidth / 4,
            digits.utf8.allSatisfy({ (0x30...0x39).contains($0) || (0x61...0x66).contains($0) })
        else { return nil }
        return Number(digits, radix: 16)
    }
}

/// The span of the request that a service is answering. Calls to other services continue its trace.
public final class ActiveSpan: Sendable {
    /// The span of the request that the current task belongs to; nil if the request is not traced.
    @TaskLocal public static var current: ActiveSpan?

    private let span: TraceContext
    private let hasEnded = Atomic<Bool>(false)

    public init(_ span: TraceContext) {
        self.span = span
    }

    /// Nil once the request has been answered: tasks that it started may outlive it by hours.
    public var context: TraceContext? { hasEnded.load(ordering: .relaxed) ? nil : span }

    public func end() {
        hasEnded.store(true, ordering: .relaxed)
    }
}
