import Crypto
import Foundation
import Logging
import MartletCore
import MartletPostgres
import ServiceLifecycle
import Synchronization

/// The key that access tokens are signed with: made when there is none, and changed in time.
///
/// A new key is published for a day before it signs, the old one for an hour longer than its last token lasts, so that at no moment
/// anybody with a copy of the keys meets a token that they do not know.
final class SigningKeys: Service {
    struct Schedule {
        var signsFor: TimeInterval = 30 * 86_400
        var publishedAhead: TimeInterval = 86_400
        var publishedAfter: TimeInterval = 3_600
    }

    private static let interval: Duration = .seconds(60)

    private let store: SigningKeyStore
    private let schedule: Schedule
    private let logger: Logger
    private let newest = Mutex<AccessTokenSigner?>(nil)

    init(store: SigningKeyStore, schedule: Schedule = Schedule(), logger: Logger) {
        self.store = store
        self.schedule = schedule
        self.logger = logger
    }

    /// Nil until the first look at the database.
    var signer: AccessTokenSigner? { newest.withLock { $0 } }

    func run() async throws {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                var pause = Self.interval
                do {
                    try await self.refresh(at: Date())
                } catch {
                    self.logger.debug("signing keys not read", metadata: ["error.cause": "\(error)"])
                    pause = .milliseconds(200)
                }
                try? await Task.sleep(for: pause)
            }
        }
    }

    /// Makes what is missing at `now`, forgets what has expired, and takes the key that signs now.
    func refresh(at now: Date) async throws {
        let lastUse = TimeInterval(AccessToken.lifetime.components.seconds) + schedule.publishedAfter
        let signer = try await store.withKeys { [schedule] keys in
            let usable = keys.filter { $0.privateKey != nil }
            if usable.allSatisfy({ $0.signsFrom > now }) {
                keys.insert(.make(signsFrom: now), at: 0)
                for index in keys.indices where keys[index].privateKey == nil && keys[index].expires == nil {
                    keys[index].expires = now + lastUse
                }
            } else if let last = usable.last, last.signsFrom <= now - schedule.signsFor {
                let next = StoredSigningKey.make(signsFrom: now + schedule.publishedAhead)
                for index in keys.indices where keys[index].expires == nil { keys[index].expires = next.signsFrom + lastUse }
                keys.append(next)
            }
            keys.removeAll { $0.expires.map { $0 <= now } ?? false }
            return keys.last { $0.privateKey != nil && $0.signsFrom <= now }?.signer
        }
        newest.withLock { $0 = signer }
    }
}
