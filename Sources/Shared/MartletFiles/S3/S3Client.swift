import AsyncHTTPClient
import Crypto
import Foundation
import MartletCore
import NIOCore
import NIOHTTP1

/// Sends signed requests to one bucket, with path-style addresses: `<endpoint>/<bucket>/<key>`.
///
/// Every request body is held in memory, so that a request can be retried: up to three attempts if the connection fails
/// or the store answers 429, 500, 502, 503 or 504.
final class S3Client: Sendable {
    private static let maximumTries = 3
    private static let timeout: TimeAmount = .seconds(60)

    private let configuration: S3Files.Configuration
    private let signature: SignatureV4
    private let base: String
    private let host: String
    private let client: HTTPClient
    private let now: @Sendable () -> Date

    init(_ configuration: S3Files.Configuration, now: @escaping @Sendable () -> Date = { Date() }) throws {
        self.configuration = configuration
        self.now = now
        (base, host) = try Self.address(configuration.endpoint)
        signature = SignatureV4(
            accessKey: configuration.accessKey, secretKey: configuration.secretKey, region: configuration.region)
        var http = HTTPClient.Configuration()
        http.redirectConfiguration = .disallow
        http.connectionPool.retryConnectionEstablishment = false
        http.timeout.connect = .seconds(5)
        // Long, because this limit also applies while a slow client takes a portion of a body from us. Before the
        // response begins, `timeout` applies.
        http.timeout.read = .seconds(300)
        client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: http)
    }

    /// `https://host` and `host`, with the port only if it is not the scheme's default: the request must match what is
    /// signed.
    static func address(_ endpoint: String) throws -> (base: String, host: String) {
        guard let parts = URLComponents(string: endpoint), let scheme = parts.scheme,
            scheme == "http" || scheme == "https",
            let name = parts.host, parts.query == nil, parts.user == nil, parts.path.isEmpty || parts.path == "/"
        else { throw S3Files.InvalidEndpoint() }
        let port = parts.port == (scheme == "http" ? 80 : 443) ? nil : parts.port
        let host = port.map { "\(name):\($0)" } ?? name
        return ("\(scheme)://\(host)", host)
    }

    deinit {
        client.shutdown { _ in }
    }

    /// The store's response, whose body may not have been read yet.
    struct Answer: Sendable {
        var status: Int
        var headers: HTTPHeaders
        var body: HTTPClientResponse.Body

        /// The body of a response known to be small.
        func text() async throws -> String {
            String(buffer: try await body.collect(upTo: 4 << 20))
        }
    }

    /// - Parameter key: An object's key; nil addresses the bucket itself.
    /// - Throws: `FileError.unavailable` for every status outside `accepted`.
    func send(
        _ method: HTTPMethod, _ key: String?, query: [(name: String, value: String)] = [],
        headers: [(name: String, value: String)] = [], body: ByteBuffer = ByteBuffer(),
        accepting accepted: Set<Int> = [200]
    ) async throws -> Answer {
        var tries = 0
        while true {
            tries += 1
            do {
                let answer = try await sendOnce(method, key, query, headers, body)
                if accepted.contains(answer.status) { return answer }
                let text = (try? await answer.text()) ?? ""
                let cause = "S3 \(method.rawValue): \(answer.status) \(XMLText(text)["Code"] ?? "")"
                guard [429, 500, 502, 503, 504].contains(answer.status), tries < Self.maximumTries else {
                    throw FileError.unavailable(cause: cause)
                }
            } catch let error as HTTPClientError where tries < Self.maximumTries && error != .cancelled {
                // Retry below.
            } catch let error as HTTPClientError {
                throw error == .cancelled ? CancellationError() : FileError.unavailable(cause: "S3: \(error)")
            } catch let error where !(error is FileError) && !(error is CancellationError) {
                guard tries < Self.maximumTries else { throw FileError.unavailable(cause: "S3: \(error)") }
            }
            try await Task.sleep(for: .milliseconds(100 << tries))
        }
    }

    private func sendOnce(
        _ method: HTTPMethod, _ key: String?, _ query: [(name: String, value: String)],
        _ headers: [(name: String, value: String)], _ body: ByteBuffer
    ) async throws -> Answer {
        let path =
            "/" + SignatureV4.encoded(configuration.bucket)
            + (key.map { "/" + SignatureV4.encoded($0, keeping: "/") } ?? "")
        let timestamp = SignatureV4.timestamp(now())
        let hash = Hexadecimal.text(body.withUnsafeReadableBytes { SHA256.hash(data: $0) })
        let signed = headers + [("host", host), ("x-amz-content-sha256", hash), ("x-amz-date", timestamp)]
        let authorization = signature.authorization(
            method: method.rawValue, path: path, query: query, headers: signed, payloadSHA256: hash,
            timestamp: timestamp)
        var request = HTTPClientRequest(url: base + path + (query.isEmpty ? "" : "?" + SignatureV4.encoded(query)))
        request.method = method
        for header in signed where header.name != "host" { request.headers.add(name: header.name, value: header.value) }
        request.headers.add(name: "authorization", value: authorization)
        if method == .PUT || method == .POST { request.body = .bytes(body) }
        let response = try await client.execute(request, timeout: Self.timeout)
        return Answer(status: Int(response.status.code), headers: response.headers, body: response.body)
    }
}

/// The subset of XML in S3's responses: elements without relevant attributes, and five entities.
struct XMLText {
    private let text: Substring

    init(_ text: some StringProtocol) {
        self.text = Substring(text)
    }

    /// The text of the first element with this name.
    subscript(name: String) -> String? {
        all(name).first.map { XMLText.unescaped($0) }
    }

    /// The contents of all elements with this name, which must not be nested.
    func all(_ name: String) -> [Substring] {
        var found: [Substring] = []
        var rest = text
        while let start = rest.range(of: "<\(name)>"), let end = rest[start.upperBound...].range(of: "</\(name)>") {
            found.append(rest[start.upperBound..<end.lowerBound])
            rest = rest[end.upperBound...]
        }
        return found
    }

    private static func unescaped(_ text: Substring) -> String {
        [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&amp;", "&")]
            .reduce(String(text)) { $0.replacingOccurrences(of: $1.0, with: $1.1) }
    }
}
