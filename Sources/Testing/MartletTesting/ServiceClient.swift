import Foundation
import HTTPTypes
import Hummingbird
public import HummingbirdTesting
public import MartletAPI
public import MartletCore
public import MartletHTTP
public import NIOCore

/// Calls a service's routes in this process as the gateway would, with a signed principal.
public struct ServiceClient: Sendable {
    public static let signer = PrincipalSigner(internalSecret: Secret("an-internal-secret-of-the-tests-0123456789"))

    private let client: any TestClientProtocol
    /// Nil simulates a request that bypasses the gateway.
    public var principal: Principal?

    public init(_ client: any TestClientProtocol, principal: Principal?) {
        self.client = client
        self.principal = principal
    }

    /// A client for a service whose background services are not needed.
    ///
    /// - Parameter spans: Receives the spans of traced requests.
    public init(_ definition: some ServiceDefinition, spans: SpanQueue? = nil) async throws {
        let router = ServiceProcess.makeRouter(definition, signer: Self.signer, spans: spans)
        let client = try await Application(router: router, logger: .ofErrors).test(.router) { $0 }
        self.init(client, principal: nil)
    }

    public func acting(as principal: Principal?) -> ServiceClient {
        ServiceClient(client, principal: principal)
    }

    public func get(_ path: String) async throws -> Answer { try await send("GET", path) }
    public func post(_ path: String, _ body: String = "") async throws -> Answer { try await send("POST", path, body) }
    public func put(_ path: String, _ body: String) async throws -> Answer { try await send("PUT", path, body) }
    public func patch(_ path: String, _ body: String) async throws -> Answer { try await send("PATCH", path, body) }
    public func delete(_ path: String) async throws -> Answer { try await send("DELETE", path) }

    public func send(_ method: String, _ path: String, _ body: String? = nil, headers: [String: String] = [:])
        async throws -> Answer
    {
        try await send(method, path, bytes: body.map { Array($0.utf8) }, headers: headers)
    }

    public func send(
        _ method: String, _ path: String, bytes: [UInt8]?, headers extra: [String: String] = [:]
    ) async throws -> Answer {
        var headers: HTTPFields = [:]
        for (name, value) in extra { headers[HTTPField.Name(name)!] = value }
        headers[HTTPField.Name(HeaderName.requestID)!] = "request-1"
        if let principal {
            headers[HTTPField.Name(HeaderName.principal)!] = try Self.signer.header(for: principal, at: Date())
        }
        let response = try await client.executeRequest(
            uri: path, method: HTTPRequest.Method(method)!, headers: headers, body: bytes.map { ByteBuffer(bytes: $0) })
        return Answer(
            status: response.status.code, headers: response.headers, text: String(buffer: response.body),
            body: response.body)
    }
}

/// A service's answer.
public struct Answer: Sendable, CustomStringConvertible {
    public let status: Int
    let headers: HTTPFields
    public let text: String
    /// The body as received, possibly compressed.
    public let body: ByteBuffer

    public func header(_ name: String) -> String? { HTTPField.Name(name).flatMap { headers[$0] } }

    /// The values of a header that may be given several times.
    public func headers(_ name: String) -> [String] { HTTPField.Name(name).map { headers[values: $0] } ?? [] }

    /// The JSON text of the value at a dotted path, such as `data.0.name`; nil if absent.
    public subscript(path: String) -> String? {
        guard let json else { return nil }
        return path.split(separator: ".").reduce(json as JSONValue?) { $0?[$1] }?.text
    }

    /// The `_id`s of `data`, in order.
    public var ids: [String] {
        guard case .array(let objects) = json?["data"] else { return [] }
        return objects.compactMap { if case .string(let id) = $0["_id"] { id } else { nil } }
    }

    public var json: JSONValue? { try? JSONValue(parsing: text.utf8) }

    /// Whether this is the complete problem answer for `code` (RFC 9457 plus our own members).
    public func isProblem(_ code: ErrorCode, field: String? = nil) -> Bool {
        status == code.status && headers[.contentType] == Problem.contentType
            && self["type"] == "\"urn:martlet:error:\(code.rawValue)\"" && self["title"] == "\"\(code.title)\""
            && self["status"] == "\(code.status)" && self["code"] == "\"\(code.rawValue)\""
            && self["requestId"] == "\"request-1\""
            && (field == nil || self["field"] == field.map(JSONValue.quote))
    }

    public var description: String { "\(status) \(text.prefix(2_000))" }
}
