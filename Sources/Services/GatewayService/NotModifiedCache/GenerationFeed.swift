import AsyncHTTPClient
import Foundation
import Logging
import MartletAPI
import MartletCore

/// Follows an upstream's feed of space generations, for `NotModifiedCache`.
struct GenerationFeed: Sendable {
    /// Short, so that a hanging instance is noticed soon; another instance may publish in the meantime.
    private static let waitSeconds = 5

    let targets: [UpstreamTarget]
    /// The upstream's path.
    let path: String
    let client: HTTPClient
    let signer: PrincipalSigner
    let logger: Logger
    let now: @Sendable () -> Date

    /// Passes all generations to `publish` whenever they change, and nil while they are unknown, until cancelled.
    func follow(_ publish: @Sendable ([String: Int64]?) async -> Void) async {
        var failures = 0
        await Feed.follow { number in
            do {
                // After a failure, polls the next instance.
                let config = InternalClient(
                    baseURL: try await targets.address(failures), client: client, signer: signer, now: now)
                guard let data = try await config.poll(at: path, after: number, wait: Self.waitSeconds) else {
                    return number
                }
                let update = try JSONDecoder().decode(LiveVersions.self, from: data)
                await publish(
                    Dictionary(
                        update.spaces.map { ($0.environment.rawValue + ":" + $0.appID, $0.generation) },
                        uniquingKeysWith: { $1 }))
                return update.number
            } catch {
                failures += 1
                await publish(nil)
                throw error
            }
        } didFail: { error in
            logger.notice(
                "Could not load generations; forwarding every request to the upstream.", metadata: ["error": "\(error)"]
            )
        }
    }
}
