import Foundation
import Logging
import MartletAPI
import MartletCore

/// Follows `auth`'s feed of sessions that have ended, and keeps them on disk.
struct RevocationFeed: Sendable {
    let auth: InternalClient
    let file: RevocationFile
    let logger: Logger

    /// What was known before this process; empty when that cannot be read.
    func load() -> RevokedSessions {
        do {
            return try file.load(at: Int64(Date().timeIntervalSince1970)) ?? RevokedSessions()
        } catch {
            logger.warning("The file of ended sessions is not readable and ignored.", metadata: ["error": "\(error)"])
            return RevokedSessions()
        }
    }

    /// Hands all sessions that have to be refused to `publish` whenever there are more than in `known`, until cancelled. None is forgotten
    /// before its time, whatever becomes of `auth`.
    func follow(from known: RevokedSessions, _ publish: @Sendable (RevokedSessions) async -> Void) async {
        let (unsaved, save) = AsyncStream.makeStream(of: RevokedSessions.self, bufferingPolicy: .bufferingNewest(1))
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.save(unsaved) }
            var revoked = known
            await Feed.follow { version in
                guard let data = try await auth.news(of: "revocations", after: version) else { return version }
                let news = try JSONDecoder().decode(Revocations.self, from: data)
                revoked.add(news.sessions, cutOff: news.cutOff ?? 0, at: Int64(Date().timeIntervalSince1970))
                await publish(revoked)
                save.yield(revoked)
                return news.last
            } didFail: { error in
                logger.warning("The feed of ended sessions failed; those known stay refused.", metadata: ["error": "\(error)"])
            }
            save.finish()
        }
    }

    /// Writes the newest again and again, for a tenth of the time at most: nobody waits for it, and many that end at once are one writing.
    private func save(_ unsaved: AsyncStream<RevokedSessions>) async {
        // Not of this task, which is cancelled at the end: what came last is written then, too.
        await Task {
            for await revoked in unsaved {
                let start = ContinuousClock.now
                do {
                    try file.save(revoked)
                } catch {
                    logger.error("The ended sessions could not be written to disk.", metadata: ["error": "\(error)"])
                }
                try? await Task.sleep(for: min((ContinuousClock.now - start) * 9, .seconds(5)))
            }
        }.value
    }
}
