import AsyncHTTPClient
import Foundation
import MartletAPI
import MartletCore
import MartletTesting
import NIOCore
import NIOHTTP1

/// An app's client: an address, a key in it, and headers.
struct Client: Sendable {
    var url: String
    var appKey: String
    var headers: [String: String]

    /// - Parameter path: The part after `/api/{appKey}/`.
    func send(_ method: String, _ path: String, _ body: String? = nil) async throws -> Reply {
        try await Self.send(method, "\(url)/api/\(appKey)/\(path)", headers: headers, body)
    }

    func get(_ path: String) async throws -> Reply { try await send("GET", path) }
    func post(_ path: String, _ body: String) async throws -> Reply { try await send("POST", path, body) }

    /// The same client with another header.
    func adding(_ name: String, _ value: String) -> Client {
        Client(url: url, appKey: appKey, headers: headers.merging([name: value]) { $1 })
    }

    static func send(
        _ method: String, _ address: String, headers: [String: String] = [:], _ body: String? = nil,
        limit: TimeAmount = .seconds(120)
    ) async throws -> Reply {
        var request = HTTPClientRequest(url: Gateways.spread(address))
        request.method = HTTPMethod(rawValue: method)
        for (name, value) in headers { request.headers.add(name: name, value: value) }
        if let body { request.body = .bytes(ByteBuffer(string: body)) }
        let response = try await client.execute(request, timeout: limit)
        let text = String(buffer: try await response.body.collect(upTo: 64 << 20))
        return Reply(status: Int(response.status.code), headers: response.headers, text: text)
    }

    /// Reports every failure at once, and has a connection for every writer.
    private static let client: HTTPClient = {
        var configuration = HTTPClient.Configuration()
        configuration.connectionPool.retryConnectionEstablishment = false
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 64
        configuration.timeout.connect = .seconds(30)
        return HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }()
}

extension Client {
    /// A client of the first app, with key and secret.
    init(_ connection: Connection) {
        self.init(url: connection.url, appKey: connection.appKey, headers: [HeaderName.secret: connection.secret])
    }

    /// The first app's own server.
    static func master(_ connection: Connection) -> Client {
        Client(url: connection.url, appKey: connection.appKey, headers: [HeaderName.masterKey: connection.masterKey])
    }
}

/// A response.
struct Reply: Sendable, CustomStringConvertible {
    let status: Int
    private let headers: HTTPHeaders
    let text: String

    fileprivate init(status: Int, headers: HTTPHeaders, text: String) {
        self.status = status
        self.headers = headers
        self.text = text
    }

    var isSuccess: Bool { (200..<300).contains(status) }
    var json: JSONValue? { try? JSONValue(parsing: text.utf8) }

    func header(_ name: String) -> String? { headers.first(name: name) }

    /// The JSON text of the value at a dotted path, such as `data.0.name`, if any.
    subscript(path: String) -> String? {
        path.split(separator: ".").reduce(json) { $0?[$1] }?.text
    }

    /// The string at a dotted path.
    func string(_ path: String) -> String? {
        guard case .string(let text) = path.split(separator: ".").reduce(json, { $0?[$1] }) else { return nil }
        return text
    }

    /// The `_id`s of `data`, in order.
    var ids: [String] {
        guard case .array(let objects) = json?["data"] else { return [] }
        return objects.compactMap { if case .string(let id) = $0["_id"] { id } else { nil } }
    }

    /// Whether this is a complete RFC 9457 problem: its status is the response's, and its `requestId` is the
    /// `X-Request-Id`.
    var isProblem: Bool {
        guard let problem = try? JSONDecoder().decode(Problem.self, from: Data(text.utf8)),
            let code = ErrorCode.all.first(where: { $0.rawValue == problem.code })
        else { return false }
        return header("content-type") == Problem.contentType && problem.status == status && code.status == status
            && problem.type == "urn:martlet:error:" + code.rawValue && problem.title == code.title
            && problem.requestId != nil && problem.requestId == header(HeaderName.requestID)
    }

    /// Whether a service called directly refuses with `code`. Only the gateway gives requests an id.
    func isRefusal(_ code: ErrorCode) -> Bool {
        status == code.status && header("content-type") == Problem.contentType && string("code") == code.rawValue
    }

    func isProblem(_ code: ErrorCode) -> Bool {
        isProblem && string("code") == code.rawValue
    }

    var description: String { "\(status) \(text.prefix(1_000))" }
}
