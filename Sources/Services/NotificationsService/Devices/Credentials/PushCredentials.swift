import Foundation
import Logging
import MartletCore
import MartletPostgres
import MartletPush
import ServiceLifecycle
import Synchronization

/// A cache of push credentials per space, at most two seconds behind the database.
///
/// NOTIFY invalidates the cache at once. As a fallback, entries older than two seconds are compared with the table when
/// they are used. Unchanged keys keep their objects, and with them the tokens already issued.
final class PushCredentials: Sendable {
    static let channel = "notifications_credentials"
    private static let lifetime: Duration = .seconds(2)
    /// The maximum number of cached spaces; the least recently used one is evicted.
    private static let maximumSpaces = 1_000

    /// The credentials of a space. A member is nil when there is none or it cannot be decrypted with this server's
    /// internal secret.
    struct Current: Sendable {
        var apns: APNsCredential?
        var fcm: FCMServiceAccount?
        var webPush: VAPIDKey?
        /// When each credential was stored. A different time means a different credential.
        var versions: [CredentialKind: Date] = [:]
        /// The credentials that a push service rejected, with its reason. Only retries may send with them.
        var broken: [CredentialKind: String] = [:]

        func isBroken(_ kind: CredentialKind) -> Bool { broken[kind] != nil }

        /// Whether the service has a credential that is not broken.
        func canSend(by service: PushService) -> Bool {
            !isBroken(service.credential) && has(service)
        }

        /// Whether the service has a credential that can be decrypted.
        func has(_ service: PushService) -> Bool {
            switch service {
            case .apns: apns != nil
            case .fcm: fcm != nil
            case .webpush: webPush != nil
            }
        }
    }

    private struct Entry {
        var current: Current
        /// Nil: reload before the next use.
        var readAt: ContinuousClock.Instant?
        var lastUse: Int
    }

    private struct State {
        var entries: [Int32: Entry] = [:]
        var uses = 0
        /// Counts invalidations. A result read before the latest one is not fresh.
        var changes = 0
        var confirmations = Confirmations<Int32>()
    }

    let store: CredentialStore
    private let state = Mutex(State())

    init(store: CredentialStore) {
        self.store = store
    }

    /// - Throws: `PostgresError`.
    func current(_ space: Int32) async throws -> Current {
        let now = ContinuousClock.now
        let (known, isFresh, changes) = state.withLock { state -> (Current?, Bool, Int) in
            state.uses += 1
            state.entries[space]?.lastUse = state.uses
            let entry = state.entries[space]
            return (entry?.current, entry?.readAt.map { now - $0 < Self.lifetime } ?? false, state.changes)
        }
        if let known, isFresh { return known }
        let current = try await store.current(space, known: known)
        state.withLock { state in
            state.entries[space] = Entry(
                current: current, readAt: state.changes == changes ? now : nil, lastUse: state.uses)
            guard state.entries.count > Self.maximumSpaces,
                let oldest = state.entries.min(by: { $0.value.lastUse < $1.value.lastUse })?.key
            else { return }
            state.entries[oldest] = nil
        }
        return current
    }

    /// The key for web push; nil if there is none. If none is cached, it is read again, because another instance may
    /// just have stored one.
    func webPush(of space: Int32) async throws -> VAPIDKey? {
        let known = try await current(space)
        if let key = known.webPush { return key }
        guard state.withLock({ $0.confirmations.take(for: space) }),
            let key = try await store.current(space, known: known).webPush
        else { return nil }
        forget(space)
        return key
    }

    /// Suspends the credential in all instances until it is stored again, a push with it is accepted, or it is marked
    /// good.
    ///
    /// - Parameters:
    ///   - isRetried: Whether single messages are sent with it from time to time as a test. Otherwise it stays
    ///     suspended until someone acts.
    ///   - reason: The push service's reason, or a sentence. Cut off after 200 characters.
    ///   - version: The version that failed, as in `Current.versions`. One stored in the meantime is not affected.
    func markBroken(_ kind: CredentialKind, in space: Int32, version: Date?, reason: String, isRetried: Bool = false)
        async throws
    {
        try await store.markBroken(
            kind, in: space, version: version, reason: String(reason.prefix(200)), isRetried: isRetried)
        forget(space)
    }

    /// Clears the broken mark of the credential.
    func markGood(_ kind: CredentialKind, in space: Int32) async throws {
        try await store.markGood(kind, in: space)
        forget(space)
    }

    /// Reloads the credentials of the space before their next use; nil reloads those of all spaces.
    func forget(_ space: Int32?) {
        state.withLock { state in
            state.changes += 1
            if let space {
                state.entries[space]?.readAt = nil
            } else {
                for space in state.entries.keys { state.entries[space]?.readAt = nil }
            }
        }
    }
}

/// Invalidates cached credentials when another instance changes them.
struct PushCredentialsWatch: Service {
    let credentials: PushCredentials
    let postgres: PostgresClient

    func run() async throws {
        await cancelWhenGracefulShutdown {
            for await notification in postgres.listen(PushCredentials.channel) {
                credentials.forget(notification.mayHaveMissed ? nil : Int32(notification.payload))
            }
        }
    }
}
