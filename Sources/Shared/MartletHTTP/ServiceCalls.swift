import AsyncHTTPClient
public import Foundation
import MartletAPI
public import MartletCore
public import NIOCore
public import NIOHTTP1

/// The address at which a service accepts calls from our own processes.
public struct ServiceAddress: Sendable {
    public var name: String
    public var url: URL

    public init(name: String, url: URL) {
        self.name = name
        self.url = url
    }

    /// The service's default address, on this machine.
    public init(_ service: ServiceName) {
        self.init(name: service.rawValue, url: service.localURL)
    }

    /// The address in `services.<name>`, or the default one.
    ///
    /// - Throws: `SettingsError`.
    public init(_ service: ServiceName, _ settings: Settings) throws {
        self.init(
            name: service.rawValue, url: try settings.url("services.\(service.rawValue)", default: service.localURL))
    }
}

/// Calls other services as one of our processes: signed, by default within 30 seconds, and as part of the trace of the
/// request that the current task belongs to.
public final class ServiceCalls: Sendable {
    private let caller: String
    private let client = OutgoingClient(.anywhere)
    private let signer: PrincipalSigner
    private let now: @Sendable () -> Date

    /// - Parameter caller: The name of the calling service.
    public init(caller: String, internalSecret: Secret, now: @escaping @Sendable () -> Date = { Date() }) {
        self.caller = caller
        self.now = now
        signer = PrincipalSigner(internalSecret: internalSecret)
    }

    public struct Answer: Sendable {
        public var headers: HTTPHeaders
        public var body: ByteBuffer
    }

    public enum Failure: Error {
        /// A status other than 200.
        case status(Int, service: String)
    }

    /// - Parameter limitInBytes: Maximum size of the answer.
    /// - Throws: `Failure`, `OutgoingFailure`; `CancellationError`.
    public func post(
        _ path: String, _ body: some Encodable, to service: ServiceAddress, upTo limitInBytes: Int,
        within timeout: Duration = .seconds(30)
    ) async throws -> Answer {
        let base = service.url.absoluteString
        var request = HTTPClientRequest(url: (base.hasSuffix("/") ? String(base.dropLast()) : base) + path)
        request.method = .POST
        request.headers.add(name: "content-type", value: "application/json")
        request.headers.add(name: HeaderName.principal, value: try signer.header(for: .service(caller), at: now()))
        if let span = ActiveSpan.current?.context {
            request.headers.add(name: TraceContext.headerName, value: span.traceparent)
        }
        request.body = .bytes(ByteBuffer(bytes: try JSONEncoder().encode(body)))
        let answer = try await client.send(request, within: timeout, upTo: limitInBytes)
        guard answer.status == 200 else { throw Failure.status(answer.status, service: service.name) }
        return Answer(headers: answer.headers, body: answer.body)
    }
}
