import Foundation
import MartletPostgres

/// A message for one device that this copy of the service has to send: nobody else does until the lease has run out.
struct ClaimedDelivery: Sendable {
    let message: UUID
    let space: Int32
    let installation: UUID
    let variant: Int
    /// From 1; with it results are written: whoever has lost the lease writes nothing.
    let attempt: Int
    /// The same for each attempt.
    let pushID: UUID
    /// What the icon is to show, where the message raises badges.
    let badge: Int?
    /// Nil: the installation has gone, or its token has.
    let device: Device?

    static let columns: PostgresQuery = "c.message, c.installation, c.variant, c.attempts, c.push_id, c.badge, i.token IS NOT NULL, c.space"
    private static let columnCount = 8

    /// Reads `columns` and behind them those of `Device`.
    init(_ row: PostgresRow) throws {
        message = try row.decode(0)
        installation = try row.decode(1)
        variant = try row.decode(2)
        attempt = try row.decode(3)
        pushID = try row.decode(4)
        badge = try row.decode(5)
        space = try row.decode(7)
        device = try row.decode(6) ? try Device(row, from: Self.columnCount) : nil
    }
}

/// How many deliveries of a message to claim.
struct ClaimShare: Sendable, Equatable {
    var message: UUID
    var limit: Int
    /// What the message's first attempt makes of the installation's badge.
    var badge: MessageBadge?
}

/// What became of a delivery, to be written down.
struct DeliveryResult: Sendable {
    var message: UUID
    var installation: UUID
    var attempt: Int
    var verdict: Verdict

    init(_ delivery: ClaimedDelivery, _ verdict: Verdict) {
        message = delivery.message
        installation = delivery.installation
        attempt = delivery.attempt
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
