import MartletCore
import NIOCore

/// The request head for the upstream.
///
/// Contains the client's header lines unchanged, without hop-by-hop headers and those only the gateway may set. The
/// path is rewritten, and principal, request id, trace and forwarding headers are added.
struct UpstreamHead {
    private let head: RequestHead
    private let bytes: UnsafeRawBufferPointer
    private let admission: Admission
    private let client: ClientConnection
    private let requestID: RequestID
    private let span: TraceContext?

    /// - Parameter span: The gateway's span; nil if the request is not traced.
    init(
        _ head: RequestHead, _ bytes: UnsafeRawBufferPointer, _ admission: Admission, _ client: ClientConnection,
        _ requestID: RequestID, _ span: TraceContext?
    ) {
        self.head = head
        self.bytes = bytes
        self.admission = admission
        self.client = client
        self.requestID = requestID
        self.span = span
    }

    func write(to buffer: inout ByteBuffer) {
        // Host and forwarding headers are written at most twice, a captured parameter once per use in the rewrite.
        // Everything else is bounded.
        let bound =
            (2 + (route.rewrite?.count ?? 0)) * bytes.count + route.rewriteBytes
            + (admission.grant?.headerLine.count ?? 0)
            + client.addressText.count + 600
        buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: bound) { memory in
            var writer = HeadWriter(memory)
            write(&writer)
            return writer.count
        }
    }

    private var route: Route { admission.match.route }

    private func write(_ writer: inout HeadWriter) {
        writer.write(head.method.name)
        writer.write(" ")
        writeTarget(&writer)
        writer.write(" HTTP/1.1\r\n")
        if head.host < 0 { writer.write("host: martlet\r\n") }
        let keepsForwarding = client.isTrustedProxy
        let route = self.route
        writer.write(head.fields, of: bytes) { field in
            switch field.meaning {
            case .other, .dashboard, .fetchSite:
                !head.connectionNamesFields || !head.fields.connectionNames(bytes[field.name], in: bytes)
            case .host, .sentryAuth, .origin: true
            // Only calls that sign staff in, and routes that need no credential, get cookies.
            case .cookie: route.credential == .none || (route.credential == .staff && route.ignoresToken)
            case .authorization: route.credential == .link || route.credential == .none
            case .apiKey: route.credential != .ingest && route.credential != .evaluation
            case .forwardedProto, .forwardedHost: keepsForwarding
            case .accessControlRequestMethod, .accessControlRequestHeaders, .accessControlAnswer, .server: true
            default: false
            }
        }
        writeOwn(&writer)
        writer.write("\r\n")
    }

    private func writeTarget(_ writer: inout HeadWriter) {
        guard let rewrite = route.rewrite else { return writer.write(bytes[head.target]) }
        for piece in rewrite {
            switch piece {
            case .literal(let text): writer.write(text)
            case .parameter(let index): writer.write(bytes[admission.match.captures[index]])
            case .rest: writer.write(bytes[admission.match.captures.rest])
            }
        }
        writer.write(bytes[head.query])
    }

    private func writeOwn(_ writer: inout HeadWriter) {
        if let grant = admission.grant { writer.write(grant.headerLine) }
        if route.tellsAddress, let address = admission.address {
            writer.write("x-martlet-address: ")
            writer.write(address.text)
            writer.write("\r\n")
        }
        writer.write("x-request-id: ")
        writer.write(requestID)
        writer.write("\r\nx-forwarded-for: ")
        if client.isTrustedProxy, let list = head.value(head.forwardedFor, in: bytes) {
            writer.write(list)
            writer.write(", ")
        }
        writer.write(client.addressText)
        if !client.isTrustedProxy || !has(.forwardedProto) {
            writer.write("\r\nx-forwarded-proto: ")
            writer.write(client.isSecure ? "https" : "http")
        }
        if !client.isTrustedProxy || !has(.forwardedHost), let host = head.value(head.host, in: bytes) {
            writer.write("\r\nx-forwarded-host: ")
            writer.write(host)
        }
        writer.write("\r\n")
        if let span {
            writer.write("traceparent: ")
            writer.write(span.traceparent)
            writer.write("\r\n")
        }
        if head.isChunked {
            writer.write("transfer-encoding: chunked\r\n")
        } else if let length = head.contentLength {
            writer.write("content-length: ")
            writer.write(length)
            writer.write("\r\n")
        }
        if admission.isUpgrade { writer.write("connection: upgrade\r\nupgrade: websocket\r\n") }
    }

    private func has(_ meaning: FieldName) -> Bool { head.fields.contains { $0.meaning == meaning } }
}
