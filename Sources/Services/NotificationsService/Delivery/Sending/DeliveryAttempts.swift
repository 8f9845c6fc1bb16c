import Foundation
import MartletPush

/// Attempts single deliveries.
struct DeliveryAttempts: Sendable {
    let inFlight: InFlightDeliveries
    let health: PushHealth
    let transport: PushTransport
    let lease: Duration
    let now: @Sendable () -> Date

    /// - Returns: Nil if this instance no longer owns the delivery.
    func send(
        _ claim: ClaimedDelivery, of message: OutgoingMessage, with sendCredentials: PushTransport.SendCredentials,
        isTrial: Bool
    ) async -> Verdict? {
        guard !claim.isUnreadable else { return .unreadable(attempt: claim.attempt) }
        guard let device = claim.device else { return .failed("no-token") }
        guard inFlight.isLeased(claim, for: lease) else { return nil }
        guard message.users.allSatisfy({ device.userID.map($0.contains) ?? false }) else {
            return .failed("signed-out")
        }
        let time = now()
        if message.expires <= time { return .failed("expired") }
        // The message was due outside quiet hours, but it was delayed or the device changed its time zone.
        if let end = message.timing.endOfQuietHours(at: time, in: message.timing.zone(device.timeZone)) {
            return .again(after: .seconds(end.timeIntervalSince(time)), reason: Verdict.quietHours, counts: false)
        }
        if let blockingVerdict = transport.blockingVerdict(
            device, sendCredentials, isTrial: isTrial, isServiceKnown: claim.service == device.service)
        {
            return blockingVerdict
        }
        let host = device.host.map { Holds.Target(space: device.space, service: device.service, host: $0) }
        let end = health.admit(device, host, at: time)
        // A trial ignores the hold, because it tests whether the hold is still justified.
        if let end, !isTrial {
            return .again(after: .seconds(end.timeIntervalSince(time)), reason: "held", counts: false)
        }
        let push: PushMessage
        do throws(PushFault) {
            let bundleID = device.service == .apns ? sendCredentials.current.apns?.bundleID(of: device) : nil
            if device.service == .apns, bundleID == nil { throw .noBundleID }
            push = try message.renderer.renderPush(
                for: device, variant: claim.variant, badge: claim.badge,
                identity: PushIdentity(message: message.id, pushID: claim.pushID, expires: message.expires), at: time,
                bundleID: bundleID)
        } catch {
            return .failed(error.reason)
        }
        let outcome = await transport.send(push, to: device, with: sendCredentials)
        if let host { health.apply(outcome, of: host, after: now().timeIntervalSince(time)) }
        let hold = await health.apply(outcome, device, sendCredentials)
        return Verdict(
            outcome, attempt: claim.attempt, isAtMostOnce: message.isAtMostOnce, sentAs: claim.pushID, hold: hold)
    }
}
