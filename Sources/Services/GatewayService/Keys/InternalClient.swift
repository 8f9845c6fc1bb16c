import AsyncHTTPClient
import Foundation
import MartletAPI
import MartletCore
import NIOCore
import NIOFoundationCompat
import NIOHTTP1

/// Calls a service's internal endpoints as the gateway.
struct InternalClient: Sendable {
    static let waitSeconds = 20
    private static let maximumBytes = 64 * 1024 * 1024

    let baseURL: String
    let client: HTTPClient
    let signer: PrincipalSigner
    let now: @Sendable () -> Date

    enum Failure: Error {
        case status(Int)
        case noAddress
    }

    /// The contents of a feed newer than `version`; nil if the service had none within `waitSeconds`.
    func poll(feed: String, after version: Int64) async throws -> Data? {
        try await poll(at: "/internal/" + feed, after: version, wait: Self.waitSeconds)
    }

    /// The contents of the feed at `path` newer than `version`, waiting up to `wait` seconds.
    func poll(at path: String, after version: Int64, wait: Int) async throws -> Data? {
        let request = HTTPClientRequest(url: "\(baseURL)\(path)?after=\(version)&wait=\(wait)")
        let response = try await send(request, timeout: .seconds(Int64(wait) + 10))
        switch response.status {
        case .ok: return Data(buffer: try await response.body.collect(upTo: Self.maximumBytes))
        case .noContent: return nil
        default: throw Failure.status(Int(response.status.code))
        }
    }

    func post(_ path: String, _ body: Data) async throws {
        var request = HTTPClientRequest(url: baseURL + path)
        request.method = .POST
        request.headers.add(name: "content-type", value: "application/json")
        request.body = .bytes(ByteBuffer(data: body))
        let response = try await send(request, timeout: .seconds(5))
        guard (200..<300).contains(response.status.code) else { throw Failure.status(Int(response.status.code)) }
    }

    private func send(_ request: HTTPClientRequest, timeout: TimeAmount) async throws -> HTTPClientResponse {
        var request = request
        request.headers.add(name: HeaderName.principal, value: try signer.header(for: .service("gateway"), at: now()))
        return try await client.execute(request, timeout: timeout)
    }
}

extension [UpstreamTarget] {
    /// The base URL of one of the service's instances; successive attempts rotate through them.
    func address(_ attempt: Int) async throws -> String {
        var addresses: [String] = []
        for target in self {
            addresses += try await target.resolve().compactMap { UpstreamMonitor.url(of: $0, path: "") }
        }
        guard !addresses.isEmpty else { throw InternalClient.Failure.noAddress }
        return addresses[attempt % addresses.count]
    }
}
