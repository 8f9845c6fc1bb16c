import Foundation
import Logging
import MartletPush
import Synchronization

extension DeliverySender {
    /// What one answer says of others: tokens to forget, credentials that are no good, services that want to be left
    /// alone.
    ///
    /// - Returns: how long nothing is sent with the same; nil: it is not held.
    func learn(_ outcome: PushOutcome, _ device: Device, _ sendCredentials: PushTransport.SendCredentials) async
        -> Duration?
    {
        let own = Holds.Place(space: device.space, service: device.service, isSandbox: device.isSandbox)
        let everybody = Holds.Place(space: nil, service: device.service, isSandbox: device.isSandbox)
        let lane = DeliveryLane(space: device.space, service: device.service)
        if outcome.believesCredential, sendCredentials.current.isBroken(device.service.credential) {
            await markGood(device)
        }
        guard case .failed(let failure) = outcome else {
            state.withLock { state in
                state.holds.clear([own, everybody])
                state.doubts.clear(lane)
                if device.service == .apns { _ = state.breaker.note(device.space, bad: nil, at: now()) }
            }
            return nil
        }
        if outcome.believesCredential { state.withLock { $0.doubts.clear(lane) } }
        warn(failure, device)
        switch failure.meaning {
        case .deviceGone(let since): await forget(device, since, failure, sendCredentials)
        case .credentialBroken:
            let (length, isNew) = hold(own, atLeast: 5)
            if isNew { await doubt(device, sendCredentials, failure.reason) }
            return length
        case .backOff(.credential, let delay): return hold(own, atLeast: delay / .seconds(1)).length
        case .backOff(.service, let delay): return hold(everybody, atLeast: delay / .seconds(1)).length
        case .notSent where Self.isUnreachable(failure.reason): return hold(own, atLeast: 60).length
        case .notSent, .unknown, .messageRejected, .backOff(.device, _): break
        }
        return nil
    }

    /// What an answer says of the host that a browser named. One that is silent, slow or not there is left alone for a
    /// while; what it answers, whatever it is, is an answer.
    ///
    /// - Parameter time: how long it took, in seconds.
    func learn(_ outcome: PushOutcome, of host: Holds.Place, after time: TimeInterval) {
        let now = now()
        state.withLock { state in
            switch outcome {
            case _ where time >= Self.slowAnswer: _ = state.holds.backOff(host, atLeast: Self.slowHold, at: now)
            case .failed(let failure)
            where ["answer-timeout", "connection-lost", "unreachable"].contains(failure.reason):
                _ = state.holds.backOff(host, atLeast: Self.slowHold, at: now)
            case .failed(let failure) where failure.status == nil: break
            case .accepted, .failed: state.holds.clear([host])
            }
        }
    }

    private static let slowAnswer: TimeInterval = 15
    private static let slowHold: TimeInterval = 60

    /// A trial has shown that the credential is good, whatever was said of it before.
    private func markGood(_ device: Device) async {
        logger.notice(
            "a push credential is good again",
            metadata: ["push.service": "\(device.service.rawValue)", "space.id": "\(device.space)"])
        do {
            try await transport.credentials.markGood(device.service.credential, in: device.space)
            wakes.continuation.yield()
        } catch {
            warn("a credential was not marked", error)
        }
    }

    /// It was refused, as far as is known for the first time since it was last held.
    private func doubt(_ device: Device, _ sendCredentials: PushTransport.SendCredentials, _ reason: String) async {
        let (lane, time, version) = (
            DeliveryLane(space: device.space, service: device.service), now(),
            sendCredentials.current.versions[device.service.credential]
        )
        let isBroken = state.withLock { $0.doubts.note(lane, version: version, patience: settings.patience, at: time) }
        if isBroken, !sendCredentials.current.isBroken(device.service.credential) {
            await markBroken(device.service, device.space, sendCredentials, reason, isTried: true)
        }
    }

    /// Whether others would fare no better now.
    private static func isUnreachable(_ reason: String) -> Bool {
        !["cancelled", "shut-down", "queue-full"].contains(reason)
    }

    private func hold(_ place: Holds.Place, atLeast delay: TimeInterval) -> (length: Duration, isNew: Bool) {
        let time = now()
        return state.withLock { state in
            let isNew = state.holds.end(place.space ?? 0, place.service, isSandbox: place.isSandbox, at: time) == nil
            return (.seconds(state.holds.backOff(place, atLeast: delay, at: time)), isNew)
        }
    }

    private func forget(
        _ device: Device, _ since: Date, _ failure: PushFailure, _ sendCredentials: PushTransport.SendCredentials
    ) async {
        let token = GoneToken(
            space: device.space, installation: device.id, token: device.token, unlessRegisteredSince: since)
        // What APNs has not said itself is known to be no token at all.
        let isDoubtful = device.service == .apns && failure.status != nil && failure.reason == TokenRateBreaker.reason
        let time = now()
        let trips = state.withLock { state in
            if device.service == .apns, state.breaker.note(device.space, bad: isDoubtful ? token : nil, at: time) {
                return true
            }
            if !isDoubtful, state.gone.count < Self.maximumGone { state.gone.append(token) }
            return false
        }
        if trips { await markBroken(.apns, device.space, sendCredentials, TokenRateBreaker.sentence, isTried: false) }
    }

    private func markBroken(
        _ service: PushService, _ space: Int32, _ sendCredentials: PushTransport.SendCredentials, _ reason: String,
        isTried: Bool
    ) async {
        let kind = service.credential
        logger.warning(
            "a push credential is held",
            metadata: ["push.service": "\(service.rawValue)", "space.id": "\(space)", "error.cause": "\(reason)"])
        do {
            try await transport.credentials.markBroken(
                kind, in: space, version: sendCredentials.current.versions[kind], reason: reason, isTried: isTried)
        } catch {
            warn("a credential was not marked", error)
        }
    }

    static let maximumGone = 10_000
    private static let goneAtATime = 1_000

    /// Takes away tokens that push services have said are gone.
    func forgetTokens() async throws {
        let time = now()
        while !Task.isCancelled {
            let some = state.withLock { state in
                state.gone += state.breaker.take(at: time)
                let some = Array(state.gone.prefix(Self.goneAtATime))
                state.gone.removeFirst(some.count)
                return some
            }
            guard !some.isEmpty else { return }
            do {
                try await installations.forgetTokens(some)
            } catch {
                state.withLock { $0.gone += some.prefix(max(0, Self.maximumGone - $0.gone.count)) }
                throw error
            }
        }
    }
}

extension PushOutcome {
    /// Whether the push service has looked beyond the credential: then it took it for good.
    fileprivate var believesCredential: Bool {
        switch self {
        case .accepted: true
        case .failed(let failure):
            switch failure.meaning {
            case .deviceGone, .messageRejected, .backOff(.device, _): failure.status != nil
            case .notSent, .unknown, .credentialBroken, .backOff: false
            }
        }
    }
}
