import AsyncHTTPClient
import Foundation
import MartletAPI
import MartletCore
import NIOCore
import NIOFoundationCompat
import NIOHTTP1

/// Asks `auth`, as a process of ours.
struct AuthClient: Sendable {
    static let waitSeconds = 20
    private static let maximumBytes = 64 * 1024 * 1024

    let baseURL: String
    let client: HTTPClient
    let signer: PrincipalSigner

    enum Failure: Error {
        case status(Int)
    }

    /// What is newer than `version` in a feed; nil: nothing was, for as long as `auth` waits.
    func news(of feed: String, after version: Int64) async throws -> Data? {
        let request = HTTPClientRequest(url: "\(baseURL)/internal/\(feed)?after=\(version)&wait=\(Self.waitSeconds)")
        let response = try await send(request, timeout: .seconds(Int64(Self.waitSeconds) + 10))
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
        request.headers.add(name: HeaderName.principal, value: try signer.header(for: .service("gateway"), at: Date()))
        return try await client.execute(request, timeout: timeout)
    }

    /// Calls `step` with the version it returned before, -1 at first and after a failure, until cancelled.
    ///
    /// After a failure everything is asked for again: `auth` may have been restored to an older state. `didFail` is called at the first
    /// failure in a row.
    static func follow(_ step: (Int64) async throws -> Int64, didFail: (any Error) -> Void) async {
        var version: Int64 = -1
        var failures = 0
        while !Task.isCancelled {
            do {
                version = try await step(version)
                failures = 0
            } catch {
                guard !Task.isCancelled else { return }
                version = -1
                failures += 1
                if failures == 1 { didFail(error) }
                let seconds = min(5, 0.1 * Double(1 << min(failures, 6))) * Double.random(in: 0.5...1)
                try? await Task.sleep(for: .seconds(seconds))
            }
        }
    }
}
