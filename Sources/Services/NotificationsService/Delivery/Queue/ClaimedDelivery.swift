import Foundation
import MartletPostgres

/// A message for one device that this copy of the service has to send: nobody else does until the lease has run out.
struct ClaimedDelivery: Sendable {
    let message: UUID
    let space: Int32
    let installation: UUID
    /// By which push service it was to go when it was planned; nil: not known.
    let service: PushService?
    let variant: Int
    /// From 1. What never left is not one.
    let attempt: Int
    /// How often it was claimed; with it results are written: whoever has lost the lease writes nothing.
    let claim: Int
    /// The same for each attempt.
    let pushID: UUID
    /// What the icon is to show, where the message raises badges.
    let badge: Int?
    /// Nil: the installation has gone, or its token has, or it `isUnreadable`.
    let device: Device?
    /// The installation has a word that this version does not know.
    let isUnreadable: Bool

    static let columns: PostgresQuery = """
        c.message, c.installation, c.variant, c.attempts, c.push_id, c.badge, i.token IS NOT NULL, c.space, c.service, c.claims
        """
    private static let columnCount = 10

    /// Reads `columns` and behind them those of `Device`. A row that cannot be understood spoils no other.
    init(_ row: PostgresRow) throws {
        message = try row.decode(0)
        installation = try row.decode(1)
        variant = try row.decode(2)
        attempt = try row.decode(3)
        pushID = try row.decode(4)
        badge = try row.decode(5)
        space = try row.decode(7)
        service = PushService(rawValue: try row.decode(8))
        claim = try row.decode(9)
        guard try row.decode(6) else {
            (device, isUnreadable) = (nil, false)
            return
        }
        do {
            (device, isUnreadable) = (try Device(row, from: Self.columnCount), false)
        } catch is DatabaseWordError {
            (device, isUnreadable) = (nil, true)
        }
    }

    var lane: DeliveryLane { DeliveryLane(space: space, service: service) }
}

/// What is held back together: a space's deliveries that were planned for a push service; nil: for one that is not
/// known.
struct DeliveryLane: Hashable, Sendable {
    var space: Int32
    var service: PushService?
}

/// How many deliveries of a message to claim.
struct ClaimShare: Sendable, Equatable {
    var message: UUID
    /// Those for this push service; nil: those of which it is not known.
    var service: PushService?
    var limit: Int
    /// What the message's first attempt makes of the installation's badge.
    var badge: MessageBadge?
}

/// What became of a delivery, to be written down.
struct DeliveryResult: Sendable {
    var message: UUID
    var installation: UUID
    var attempt: Int
    var claim: Int
    var verdict: Verdict
}

extension DeliveryResult {
    init(_ delivery: ClaimedDelivery, _ verdict: Verdict) {
        message = delivery.message
        installation = delivery.installation
        attempt = delivery.attempt
        claim = delivery.claim
        self.verdict = verdict
    }
}

/// How a delivery ends.
enum DeliveryEnd: String, Sendable, CaseIterable {
    /// The push service has taken it.
    case accepted
    case failed
    /// It left, and nobody can tell whether it was taken.
    case unknown
    case cancelled
}
