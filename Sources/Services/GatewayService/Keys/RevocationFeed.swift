import Foundation
import Logging
import MartletAPI
import MartletCore

/// Follows the feed of ended sessions from `auth` and keeps them on disk.
struct RevocationFeed: Sendable {
    let auth: InternalClient
    let file: RevocationFile
    let logger: Logger

    /// The sessions known to the previous process; empty if the file is unreadable.
    func load() -> RevokedSessions {
        do {
            return try file.load(at: Int64(auth.now().timeIntervalSince1970)) ?? RevokedSessions()
        } catch {
            logger.warning("Could not read the file of ended sessions; ignoring it.", metadata: ["error": "\(error)"])
            return RevokedSessions()
        }
    }

    /// Passes all sessions that must be refused to `publish` whenever new ones arrive, until cancelled. No session is
    /// dropped before its tokens have expired, even if `auth` fails.
    func follow(from known: RevokedSessions, _ publish: @Sendable (RevokedSessions) async -> Void) async {
        let (unsaved, save) = AsyncStream.makeStream(of: RevokedSessions.self, bufferingPolicy: .bufferingNewest(1))
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.save(unsaved) }
            var revoked = known
            await Feed.follow { version in
                guard let data = try await auth.poll(feed: "revocations", after: version) else { return version }
                let update = try JSONDecoder().decode(Revocations.self, from: data)
                revoked.add(update.sessions, cutOff: update.cutOff ?? 0, at: Int64(auth.now().timeIntervalSince1970))
                await publish(revoked)
                save.yield(revoked)
                return update.last
            } didFail: { error in
                logger.warning(
                    "The feed of ended sessions failed; known sessions remain refused.", metadata: ["error": "\(error)"]
                )
            }
            save.finish()
        }
    }

    /// Saves the latest state repeatedly and spends at most a tenth of the time on it. No caller waits for a save, and
    /// many sessions that end together cost one write.
    private func save(_ unsaved: AsyncStream<RevokedSessions>) async {
        // A separate task, so that the last state is saved even after this one is cancelled.
        await Task {
            for await revoked in unsaved {
                let start = ContinuousClock.now
                do {
                    try file.save(revoked)
                } catch {
                    logger.error(
                        "Could not write the ended sessions to disk; retrying with the next change.",
                        metadata: ["error": "\(error)"])
                }
                try? await Task.sleep(for: min((ContinuousClock.now - start) * 9, .seconds(5)))
            }
        }.value
    }
}
