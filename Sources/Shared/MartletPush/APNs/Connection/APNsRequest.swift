import Foundation
import NIOCore
import NIOHPACK
import Synchronization

/// A notification to be sent, with the ticket that receives its outcome.
struct APNsRequest: Sendable {
    let notification: APNsNotification
    let ticket: APNsTicket
    /// How long it may wait.
    let expires: NIODeadline
    /// The number of times it was sent.
    var attempts = 0
    var sent = Date.distantPast
    /// The provider token with which it was sent.
    var token = ""

    func finish(_ outcome: PushOutcome) { ticket.finish(outcome) }

    /// Headers that differ from request to request are not indexed by HPACK, so that the others stay in its table.
    func headers(authority: String, authorization: String) -> HPACKHeaders {
        var headers = HPACKHeaders()
        headers.reserveCapacity(11)
        headers.add(name: ":method", value: "POST")
        headers.add(name: ":scheme", value: "https")
        headers.add(name: ":path", value: "/3/device/" + notification.deviceToken.lowercased(), indexing: .nonIndexable)
        headers.add(name: ":authority", value: authority)
        headers.add(name: "authorization", value: authorization)
        headers.add(name: "apns-push-type", value: notification.pushType.rawValue)
        headers.add(name: "apns-topic", value: notification.topic)
        headers.add(name: "apns-priority", value: "\(notification.priority.rawValue)")
        headers.add(name: "apns-expiration", value: "\(max(0, notification.expiration?.secondsSince1970 ?? 0))")
        headers.add(name: "apns-id", value: notification.id.uuidString.lowercased(), indexing: .nonIndexable)
        if let collapseID = notification.collapseID { headers.add(name: "apns-collapse-id", value: collapseID) }
        return headers
    }
}

/// Waits for the outcome of a notification, which is reported once.
final class APNsTicket: Sendable {
    private let continuation = Mutex<CheckedContinuation<PushOutcome, Never>?>(nil)
    private let cancelled = Atomic(false)

    var isCancelled: Bool { cancelled.load(ordering: .relaxed) }

    func cancel() { cancelled.store(true, ordering: .relaxed) }

    func wait(_ begin: () -> Void) async -> PushOutcome {
        await withCheckedContinuation { continuation in
            self.continuation.withLock { $0 = continuation }
            begin()
        }
    }

    func finish(_ outcome: PushOutcome) {
        continuation.withLock { continuation in
            defer { continuation = nil }
            return continuation
        }?.resume(returning: outcome)
    }
}
