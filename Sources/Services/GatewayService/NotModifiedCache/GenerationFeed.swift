import AsyncHTTPClient
import Foundation
import Logging
import MartletAPI
import MartletCore

/// Follows what an upstream says of the generations of its spaces, for `UnchangedAnswers`.
struct GenerationFeed: Sendable {
    /// Short, so that a copy that hangs is found out; meanwhile another one may publish.
    private static let waitSeconds = 5

    let targets: [UpstreamTarget]
    /// The upstream's path.
    let path: String
    let client: HTTPClient
    let signer: PrincipalSigner
    let logger: Logger

    /// Hands all generations to `publish` whenever there are others, and nil while nobody tells, until cancelled.
    func follow(_ publish: @Sendable ([String: Int64]?) async -> Void) async {
        var failures = 0
        await Feed.follow { number in
            do {
                // From the next copy after a failure.
                let config = InternalClient(baseURL: try await targets.address(failures), client: client, signer: signer)
                guard let data = try await config.news(at: path, after: number, wait: Self.waitSeconds) else { return number }
                let news = try JSONDecoder().decode(LiveVersions.self, from: data)
                await publish(Dictionary(news.spaces.map { ($0.environment.rawValue + ":" + $0.appID, $0.generation) }, uniquingKeysWith: { $1 }))
                return news.number
            } catch {
                failures += 1
                await publish(nil)
                throw error
            }
        } didFail: { error in
            logger.notice("Generations are not told; nothing unchanged is answered here.", metadata: ["error": "\(error)"])
        }
    }
}
