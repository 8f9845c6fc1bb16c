import Foundation
import Logging
import MartletCore
import MartletPostgres
import MartletPush
import ServiceLifecycle
import Synchronization

/// The push credentials of spaces, ready to sign with: remembered, and at most two seconds behind what is stored.
///
/// A change is told by NOTIFY at once. What is remembered is compared with the table every two seconds where it is
/// used, so that nothing hangs on that; keys that have not changed stay the same objects, with the tokens they have
/// made.
final class PushCredentials: Sendable {
    static let channel = "notifications_credentials"
    private static let lifetime: Duration = .seconds(2)
    /// Spaces to remember; the one that has not been used for longest gives way.
    private static let maximumSpaces = 1_000

    /// A space's credentials. Nil: there is none, or it cannot be opened with this server's internal secret.
    struct Current: Sendable {
        var apns: APNsCredential?
        var fcm: FCMServiceAccount?
        var webPush: VAPIDKey?
        /// When each was stored: another time is another credential.
        var versions: [CredentialKind: Date] = [:]
        /// Those that a push service refused, and with what word. Nothing is to be sent with them, but to try them.
        var broken: [CredentialKind: String] = [:]

        func isBroken(_ kind: CredentialKind) -> Bool { broken[kind] != nil }

        /// Whether there is a credential for the service that is not broken.
        func canSend(by service: PushService) -> Bool {
            !isBroken(service.credential) && has(service)
        }

        /// Whether there is a credential for the service that can be opened.
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
        /// Nil: look before the next use.
        var readAt: ContinuousClock.Instant?
        var lastUse: Int
    }

    private struct State {
        var entries: [Int32: Entry] = [:]
        var uses = 0
        /// Counts what was told to be different: what was read before that is not fresh.
        var changes = 0
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

    /// Holds the credential, in all copies, until it is stored anew, a push with it is accepted, or it is said to be
    /// good.
    ///
    /// - Parameters:
    ///   - isTried: whether one message is sent with it now and then, to see; else somebody has to act.
    ///   - reason: the push service's word, or a sentence; 200 characters are kept.
    ///   - version: which one, as `Current.versions` has it: another that was stored meanwhile is not to blame.
    func markBroken(_ kind: CredentialKind, in space: Int32, version: Date?, reason: String, isTried: Bool = false)
        async throws
    {
        try await store.markBroken(
            kind, in: space, version: version, reason: String(reason.prefix(200)), isTried: isTried)
        forget(space)
    }

    /// Nothing is known against the credential any more.
    func markGood(_ kind: CredentialKind, in space: Int32) async throws {
        try await store.markGood(kind, in: space)
        forget(space)
    }

    /// Looks before the next use of the space's; nil: of all.
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

/// Follows what other copies change.
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
