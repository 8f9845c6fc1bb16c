import Foundation
import MartletPush
import Synchronization

extension DeliverySender {
    func send(_ batch: DeliveryBatch) async {
        // A shutdown may have begun after the claim and before the batch was registered.
        if state.withLock({ $0.isStopping }) { batch.stop() }
        if let message = try? await messageCache.messages([batch.message])[batch.message],
            let sendCredentials = try? await transport.sendCredentials(of: message.space)
        {
            await batch.forEach {
                await self.send($0, of: message, with: sendCredentials, isTrial: batch.isTrial)
            } unsent: {
                self.finish($0, Self.unsent)
            }
        } else {
            for claim in batch.claims {
                finish(claim, .again(after: Verdict.notSentDelay, reason: "not-readable", counts: false))
            }
        }
        state.withLock { $0.batches[ObjectIdentifier(batch)] = nil }
    }

    private static let unsent = Verdict.again(after: .zero, reason: "cancelled", counts: false)

    private func send(
        _ claim: ClaimedDelivery, of message: OutgoingMessage, with sendCredentials: PushTransport.SendCredentials,
        isTrial: Bool
    ) async {
        guard !claim.isUnreadable else { return finish(claim, .unreadable(attempt: claim.attempt)) }
        guard let device = claim.device else { return finish(claim, .failed("no-token")) }
        guard inFlight.isLeased(claim, for: settings.lease) else { return inFlight.drop(claim) }
        guard message.users.allSatisfy({ device.userID.map($0.contains) ?? false }) else {
            return finish(claim, .failed("signed-out"))
        }
        let time = now()
        if message.expires <= time { return finish(claim, .failed("expired")) }
        // The message was due outside quiet hours, but it was delayed or the device changed its time zone.
        if let end = message.timing.endOfQuiet(at: time, in: message.timing.zone(device.timeZone)) {
            return finish(
                claim, .again(after: .seconds(end.timeIntervalSince(time)), reason: Verdict.quietHours, counts: false))
        }
        if let obstacle = transport.obstacle(
            device, sendCredentials, isTrial: isTrial, isKnown: claim.service == device.service)
        {
            return finish(claim, obstacle)
        }
        let place = device.host.map { Holds.Place(space: device.space, service: device.service, host: $0) }
        let end = state.withLock { state in
            state.holds.end(device.space, device.service, isSandbox: device.isSandbox, at: time)
                ?? place.flatMap { state.holds.admit($0, at: time) }
        }
        // A trial ignores the hold, because it tests whether the hold is still justified.
        if let end, !isTrial {
            return finish(claim, .again(after: .seconds(end.timeIntervalSince(time)), reason: "held", counts: false))
        }
        let push: PushMessage
        do throws(PushFault) {
            let bundleID = device.service == .apns ? sendCredentials.current.apns?.bundleID(of: device) : nil
            if device.service == .apns, bundleID == nil { throw .noBundleID }
            push = try message.renderer.push(
                to: device, variant: claim.variant, badge: claim.badge,
                identity: PushIdentity(message: message.id, pushID: claim.pushID, expires: message.expires),
                bundleID: bundleID)
        } catch {
            return finish(claim, .failed(error.reason))
        }
        let outcome = await transport.send(push, to: device, with: sendCredentials)
        if let place { learn(outcome, of: place, after: now().timeIntervalSince(time)) }
        let hold = await learn(outcome, device, sendCredentials)
        finish(
            claim,
            Verdict(
                outcome, attempt: claim.attempt, isAtMostOnce: message.isAtMostOnce, sentAs: claim.pushID, hold: hold))
    }

    func finish(_ claim: ClaimedDelivery, _ verdict: Verdict) {
        metrics.count(verdict)
        let waiting = inFlight.finish(claim, verdict)
        journal?.note(DeliveryResult(claim, verdict))
        if waiting == 1 || waiting == Self.resultsPerStatement { written.continuation.yield() }
    }
}
