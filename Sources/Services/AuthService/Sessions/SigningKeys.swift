import Crypto
import Foundation
import Logging
import MartletBackground
import MartletCore
import MartletPostgres
import ServiceLifecycle
import Synchronization

/// The signing keys of access tokens and ID tokens. Creates missing keys and rotates them on schedule.
///
/// A new key is published for a day before it signs, and an old key for an hour after its last token expires. So a copy
/// of the keys always contains the key of every valid token.
final class SigningKeys: Service {
    struct Schedule {
        var signsFor: TimeInterval = 30 * 86_400
        var publishedAhead: TimeInterval = 86_400
        var publishedAfter: TimeInterval = 3_600
    }

    private static let interval: Duration = .seconds(60)
    private static let retry: Duration = .milliseconds(200)

    private let accessTokens: SigningKeyStore
    private let idTokens: SigningKeyStore
    private let schedule: Schedule
    private let logger: Logger
    private let now: @Sendable () -> Date
    private let newest = Mutex<(es256: AccessTokenSigner?, rs256: RSATokenSigner?)>((nil, nil))

    init(
        postgres: PostgresClient, sealing: SealingKey, schedule: Schedule = Schedule(), logger: Logger,
        now: @escaping @Sendable () -> Date
    ) {
        accessTokens = SigningKeyStore(postgres: postgres, sealing: sealing, kind: .accessTokens)
        idTokens = SigningKeyStore(postgres: postgres, sealing: sealing, kind: .idTokens)
        self.schedule = schedule
        self.logger = logger
        self.now = now
    }

    /// Nil until the keys are first read.
    var signer: AccessTokenSigner? { newest.withLock { $0.es256 } }

    /// Whether there is a key for every kind of token.
    var isReady: Bool { newest.withLock { $0.es256 != nil && $0.rs256 != nil } }

    /// The signed ID token; nil until the keys are first read.
    func signed(_ token: some Encodable, by algorithm: IDTokenAlgorithm) throws -> String? {
        switch algorithm {
        case .es256: try signer?.sign(claims: token)
        case .rs256: try newest.withLock { $0.rs256 }?.sign(claims: token)
        }
    }

    func run() async throws {
        await cancelWhenGracefulShutdown {
            await NotifiedLoop(every: Self.interval, retries: Self.retry...Self.retry).run {
                await attempt("Could not read the signing keys; retrying.", level: .debug, logger: self.logger) {
                    try await self.refresh(at: self.now())
                }
            }
        }
    }

    /// Creates missing keys, deletes expired ones and selects the keys that sign at `now`.
    func refresh(at now: Date) async throws {
        let es256 = try await key(in: accessTokens, at: now).flatMap { key in
            try key.privateKey.map { try AccessTokenSigner(keyID: key.id, privateKey: $0) }
        }
        newest.withLock { $0.es256 = es256 }
        let rs256 = try await key(in: idTokens, at: now).flatMap { key in
            try key.privateKey.map { try RSATokenSigner(keyID: key.id, privateKey: $0) }
        }
        newest.withLock { $0.rs256 = rs256 }
    }

    /// The key of `store` that signs at `now`.
    private func key(in store: SigningKeyStore, at now: Date) async throws -> StoredSigningKey? {
        let lastUse = TimeInterval(AccessToken.lifetime.components.seconds) + schedule.publishedAfter
        return try await store.withKeys { [schedule] keys in
            let usable = keys.filter { $0.privateKey != nil }
            if usable.allSatisfy({ $0.signsFrom > now }) {
                keys.insert(try store.kind.make(now), at: 0)
                for index in keys.indices where keys[index].privateKey == nil && keys[index].expires == nil {
                    keys[index].expires = now + lastUse
                }
            } else if let last = usable.last, last.signsFrom <= now - schedule.signsFor {
                let next = try store.kind.make(now + schedule.publishedAhead)
                for index in keys.indices where keys[index].expires == nil {
                    keys[index].expires = next.signsFrom + lastUse
                }
                keys.append(next)
            }
            keys.removeAll { $0.expires.map { $0 <= now } ?? false }
            return keys.last { $0.privateKey != nil && $0.signsFrom <= now }
        }
    }
}
