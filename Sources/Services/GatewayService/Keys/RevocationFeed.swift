import Foundation
import Logging
import MartletAPI

/// Follows `auth`'s feed of sessions that have ended.
struct RevocationFeed: Sendable {
    let auth: AuthClient
    let logger: Logger

    /// Hands all sessions that have to be refused to `publish` whenever there are more, until cancelled: id → until when, in seconds since
    /// 1970. None is forgotten before, whatever becomes of `auth`.
    func follow(_ publish: @Sendable ([String: Int64]) async -> Void) async {
        var revoked: [String: Int64] = [:]
        await AuthClient.follow { version in
            guard let data = try await auth.news(of: "revocations", after: version) else { return version }
            let news = try JSONDecoder().decode(Revocations.self, from: data)
            let now = Int64(Date().timeIntervalSince1970)
            revoked = revoked.filter { $0.value >= now }.merging(news.sessions) { max($0, $1) }
            await publish(revoked)
            return news.last
        } didFail: { error in
            logger.warning("The feed of ended sessions failed; those known stay refused.", metadata: ["error": "\(error)"])
        }
    }
}
