import Foundation
import MartletPostgres

/// A message for one device that this instance must send. No other instance sends it until the lease expires.
struct ClaimedDelivery: Sendable {
    let message: UUID
    let space: Int32
    let installation: UUID
    /// The push service for which the delivery was planned; nil if unknown.
    let service: PushService?
    let variant: Int
    /// From 1. A delivery that was never sent does not count as an attempt.
    let attempt: Int
    /// The number of claims so far. Results are written only for the latest claim, so an instance that lost its lease
    /// writes nothing.
    let claim: Int
    /// The same for each attempt.
    let pushID: UUID
    /// The badge number to show, if the message increments badges.
    let badge: Int?
    /// Nil when the installation or its token is gone, or when `isUnreadable`.
    let device: Device?
    /// Whether the installation contains a word that this version does not know.
    let isUnreadable: Bool

    static let columns: PostgresQuery = """
        c.message, c.installation, c.variant, c.attempts, c.push_id, c.badge, i.token IS NOT NULL, c.space, c.service, c.claims
        """
    private static let columnCount = 10

    /// Reads `columns`, followed by those of `Device`. An unreadable row does not affect the others.
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

/// The unit in which deliveries are held back: those of a space for one push service. The service is nil for deliveries
/// that were planned by a version that did not record it.
struct DeliveryLane: Hashable, Sendable {
    var space: Int32
    var service: PushService?
}

/// The number of deliveries of a message to claim.
struct ClaimShare: Sendable, Equatable {
    var message: UUID
    /// Claims deliveries for this push service; nil claims those without one (`DeliveryLane`).
    var service: PushService?
    var limit: Int
    /// How the first attempt changes the badge of the installation.
    var badge: MessageBadge?
}

/// The result of a delivery attempt, to be written to the queue.
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

/// The final state of a delivery.
enum DeliveryEnd: String, Sendable, CaseIterable {
    /// The push service accepted it.
    case accepted
    case failed
    /// It was sent, but whether the push service accepted it is unknown.
    case unknown
    case cancelled
}
