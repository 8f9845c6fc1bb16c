import MartletCore

/// The body of a request to a collector: `ExportTraceServiceRequest` of OTLP 1.x, in its JSON form.
///
/// There, ids are hexadecimal, 64-bit numbers are strings, and enumerations are numbers. Source: opentelemetry-proto,
/// `docs/specification.md` (JSON Protobuf Encoding) and `trace/v1/trace.proto`.
struct TraceExport: Encodable {
    private let resourceSpans: [ResourceSpans]

    /// - Parameters:
    ///   - process: The name of this process.
    ///   - instance: Distinguishes the copies of the process.
    init(_ spans: [RequestSpan], process: String, instance: String) {
        let resource = Resource(
            attributes: Self.attributes([
                "service.name": .text("martlet-\(process)"), "service.instance.id": .text(instance),
                "service.version": .text(MartletVersion.current),
            ]))
        let scope = Scope(name: "martlet", version: MartletVersion.current)
        resourceSpans = [
            ResourceSpans(
                resource: resource, scopeSpans: [ScopeSpans(scope: scope, spans: spans.map { Entry($0) })])
        ]
    }

    private struct ResourceSpans: Encodable {
        let resource: Resource
        let scopeSpans: [ScopeSpans]
    }

    private struct Resource: Encodable {
        let attributes: [Attribute]
    }

    private struct ScopeSpans: Encodable {
        let scope: Scope
        let spans: [Entry]
    }

    private struct Scope: Encodable {
        let name: String
        let version: String
    }

    private struct Attribute: Encodable {
        let key: String
        let value: AnyValue
    }

    /// One member of protobuf's `oneof`.
    private struct AnyValue: Encodable {
        var stringValue: String?
        var intValue: String?
    }

    private struct Status: Encodable {
        let code: Int?
    }

    private struct Entry: Encodable {
        let traceId: String
        let spanId: String
        let parentSpanId: String?
        let name: String
        let kind: Int
        let startTimeUnixNano: String
        let endTimeUnixNano: String
        let attributes: [Attribute]
        let status: Status

        private static let server = 2
        private static let error = 2

        init(_ span: RequestSpan) {
            traceId = TraceContext.hexadecimal(span.context.traceID)
            spanId = TraceContext.hexadecimal(span.context.spanID)
            parentSpanId = span.parentID.map { TraceContext.hexadecimal($0) }
            name = span.name
            kind = Self.server
            startTimeUnixNano = String(max(0, span.start))
            endTimeUnixNano = String(max(0, span.end))
            attributes = TraceExport.attributes(span.attributes)
            status = Status(code: span.isError ? Self.error : nil)
        }
    }

    private static func attributes(_ values: [String: RequestSpan.Value]) -> [Attribute] {
        values.sorted { $0.key < $1.key }.map { key, value in
            switch value {
            case .text(let text): Attribute(key: key, value: AnyValue(stringValue: text))
            case .number(let number): Attribute(key: key, value: AnyValue(intValue: String(number)))
            }
        }
    }
}
