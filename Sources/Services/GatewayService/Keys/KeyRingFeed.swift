import AsyncHTTPClient
import Foundation
import Logging
import MartletAPI
import MartletCore
import NIOCore
import NIOHTTP1
import NIOFoundationCompat

/// Follows `auth`'s feed of key rings and reports back which credentials were used.
struct KeyRingFeed: Sendable {
    let baseURL: String
    let client: HTTPClient
    let signer: PrincipalSigner
    let file: KeyRingFile
    let logger: Logger

    private static let waitSeconds = 20
    private static let maximumBytes = 64 * 1024 * 1024

    /// Hands every new key ring to `publish`, until cancelled.
    ///
    /// After a failure the whole ring is asked for again: `auth` may have been restored to an older state.
    func follow(_ publish: @Sendable (KeyRing) async -> Void) async {
        var version: Int64 = -1
        var failures = 0
        while !Task.isCancelled {
            do {
                if let ring = try await fetch(after: version) {
                    version = ring.version
                    await publish(ring)
                    save(ring)
                }
                failures = 0
            } catch {
                guard !Task.isCancelled else { return }
                version = -1
                failures += 1
                if failures == 1 {
                    logger.warning("The key ring feed failed; serving on with the last one.", metadata: ["error": "\(error)"])
                }
                let seconds = min(5, 0.1 * Double(1 << min(failures, 6))) * Double.random(in: 0.5...1)
                try? await Task.sleep(for: .seconds(seconds))
            }
        }
    }

    func report(_ used: [String: Date]) async throws {
        var request = HTTPClientRequest(url: baseURL + "/internal/credentials/used")
        request.method = .POST
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .iso8601
        request.headers.add(name: "content-type", value: "application/json")
        request.body = .bytes(ByteBuffer(data: try encoder.encode(CredentialUse(used: used))))
        let response = try await send(request, timeout: .seconds(5))
        guard (200..<300).contains(response.status.code) else { throw FeedError.status(Int(response.status.code)) }
    }

    private enum FeedError: Error {
        case status(Int)
    }

    private func fetch(after version: Int64) async throws -> KeyRing? {
        let url = "\(baseURL)/internal/keyring?after=\(version)&wait=\(Self.waitSeconds)"
        let response = try await send(HTTPClientRequest(url: url), timeout: .seconds(Int64(Self.waitSeconds) + 10))
        switch response.status {
        case .ok:
            let body = try await response.body.collect(upTo: Self.maximumBytes)
            return try KeyRingFile.decode(Data(buffer: body))
        case .noContent:
            return nil
        default:
            throw FeedError.status(Int(response.status.code))
        }
    }

    private func send(_ request: HTTPClientRequest, timeout: TimeAmount) async throws -> HTTPClientResponse {
        var request = request
        let principal = try signer.header(for: .service("gateway"), at: Date())
        request.headers.add(name: HeaderName.principal, value: principal)
        return try await client.execute(request, timeout: timeout)
    }

    private func save(_ ring: KeyRing) {
        do {
            try file.save(ring)
        } catch {
            logger.error("The key ring could not be written to disk.", metadata: ["error": "\(error)"])
        }
    }
}
