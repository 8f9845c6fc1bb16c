import AsyncHTTPClient
import Foundation
import Logging
import MartletAPI
import MartletCore
import NIOCore
import NIOHTTP1
import ServiceLifecycle

/// Follows the live versions of configurations and translations in `config`, so that lists can include them without a
/// request.
///
/// While `config` is unavailable, the last known versions are used.
final class ConfigFeed: Service {
    private static let waitSeconds = 20
    private static let maximumSizeInBytes = 64 << 20

    let versions = KnownVersions()
    private let url: URL
    private let signer: PrincipalSigner
    private let logger: Logger
    private let client: HTTPClient
    private let now: @Sendable () -> Date

    /// - Parameter url: The address of `config` for internal requests.
    init(
        url: URL, internalSecret: Secret, logger: Logger, now: @escaping @Sendable () -> Date = { Date() }
    ) {
        self.url = url
        self.now = now
        self.logger = logger
        signer = PrincipalSigner(internalSecret: internalSecret)
        var configuration = HTTPClient.Configuration()
        configuration.redirectConfiguration = .disallow
        configuration.httpVersion = .http1Only
        configuration.connectionPool.retryConnectionEstablishment = false
        configuration.timeout.connect = .seconds(2)
        client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }

    deinit {
        client.shutdown { _ in }
    }

    enum Failure: Error {
        case status(Int)
    }

    func run() async throws {
        await cancelWhenGracefulShutdown {
            await Feed.follow { number in
                guard let newVersions = try await self.poll(after: number) else { return number }
                self.versions.replace(with: newVersions.spaces)
                return newVersions.number
            } didFail: { error in
                self.logger.warning(
                    "Could not load live configuration versions; keeping the previous ones.",
                    metadata: ["error.cause": "\(error)"])
            }
        }
    }

    /// Nil if nothing was published while `config` waited.
    private func poll(after number: Int64) async throws -> LiveVersions? {
        let base = url.absoluteString.hasSuffix("/") ? String(url.absoluteString.dropLast()) : url.absoluteString
        var request = HTTPClientRequest(url: "\(base)/internal/config/live?after=\(number)&wait=\(Self.waitSeconds)")
        request.headers.add(
            name: HeaderName.principal, value: try signer.header(for: .service(StorageService.name), at: now()))
        let response = try await client.execute(request, timeout: .seconds(Int64(Self.waitSeconds) + 10))
        switch response.status {
        case .ok:
            let body = try await response.body.collect(upTo: Self.maximumSizeInBytes)
            return try JSONDecoder().decode(LiveVersions.self, from: Data(body.readableBytesView))
        case .noContent: return nil
        default: throw Failure.status(Int(response.status.code))
        }
    }
}
