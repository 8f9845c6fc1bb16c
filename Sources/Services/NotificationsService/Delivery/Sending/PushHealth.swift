import Foundation
import Logging
import MartletPush
import Synchronization

/// Tracks what the answers of push services imply beyond a single delivery: for services, credentials and tokens.
final class PushHealth: Sendable {
    private struct State {
        var holds = Holds()
        var breaker = TokenRateBreaker()
        var rejections = CredentialRejections()
        var gone: [GoneToken] = []
    }

    private let credentials: PushCredentials
    private let installations: InstallationStore
    private let rejectionPeriod: Duration
    private let signal: ClaimSignal
    private let log: DeliveryLog
    private let now: @Sendable () -> Date
    private let state = Mutex(State())

    /// - Parameter rejectionPeriod: How long a push service must reject a credential before it counts as broken.
    init(
        credentials: PushCredentials, installations: InstallationStore, rejectionPeriod: Duration, signal: ClaimSignal,
        log: DeliveryLog, now: @escaping @Sendable () -> Date
    ) {
        (self.credentials, self.installations, self.rejectionPeriod) = (credentials, installations, rejectionPeriod)
        (self.signal, self.log, self.now) = (signal, log, now)
    }

    /// The holds at this moment.
    var holds: Holds { state.withLock(\.holds) }

    /// The time until which a delivery to the device must wait; nil if it may be sent.
    ///
    /// - Parameter host: The web push host of the device.
    func admit(_ device: Device, _ host: Holds.Target?, at time: Date) -> Date? {
        state.withLock { state in
            state.holds.end(device.space, device.service, isSandbox: device.isSandbox, at: time)
                ?? host.flatMap { state.holds.admit($0, at: time) }
        }
    }

    /// Applies what an answer implies beyond its own delivery: invalid tokens, broken credentials, and services to back
    /// off from.
    ///
    /// - Returns: How long the lane is held back; nil if it is not.
    func apply(_ outcome: PushOutcome, _ device: Device, _ sendCredentials: PushTransport.SendCredentials) async
        -> Duration?
    {
        let own = Holds.Target(space: device.space, service: device.service, isSandbox: device.isSandbox)
        let everybody = Holds.Target(space: nil, service: device.service, isSandbox: device.isSandbox)
        let lane = DeliveryLane(space: device.space, service: device.service)
        if outcome.provesCredential, sendCredentials.current.isBroken(device.service.credential) {
            await markGood(device)
        }
        guard case .failed(let failure) = outcome else {
            state.withLock { state in
                state.holds.clear([own, everybody])
                state.rejections.clear(lane)
                if device.service == .apns { _ = state.breaker.record(device.space, bad: nil, at: now()) }
            }
            return nil
        }
        if outcome.provesCredential { state.withLock { $0.rejections.clear(lane) } }
        log.warn(failure, device)
        switch failure.meaning {
        case .deviceGone(let since): await forget(device, since, failure, sendCredentials)
        case .credentialBroken:
            let (length, isNew) = hold(own, upTo: 5)
            if isNew { await recordRejection(device, sendCredentials, failure.reason) }
            return length
        case .backOff(.credential, let delay): return hold(own, upTo: delay / .seconds(1)).length
        case .backOff(.service, let delay): return hold(everybody, upTo: delay / .seconds(1)).length
        case .notSent where Self.isUnreachable(failure.reason): return hold(own, upTo: 60).length
        case .notSent, .unknown, .messageRejected, .backOff(.device, _): break
        }
        return nil
    }

    /// Applies what an answer implies about a web push host. A silent, slow or unreachable host is held back for a
    /// while; any other answer clears the hold.
    ///
    /// - Parameter time: The time until the answer, in seconds.
    func apply(_ outcome: PushOutcome, of host: Holds.Target, after time: TimeInterval) {
        let now = now()
        state.withLock { state in
            switch outcome {
            case _ where time >= Self.slowAnswer: _ = state.holds.backOff(host, upTo: Self.slowHold, at: now)
            case .failed(let failure)
            where ["answer-timeout", "connection-lost", "unreachable"].contains(failure.reason):
                _ = state.holds.backOff(host, upTo: Self.slowHold, at: now)
            case .failed(let failure) where failure.status == nil: break
            case .accepted, .failed: state.holds.clear([host])
            }
        }
    }

    private static let slowAnswer: TimeInterval = 15
    private static let slowHold: TimeInterval = 60

    /// A push service accepted a credential that was marked as broken.
    private func markGood(_ device: Device) async {
        log.logger.notice(
            "Push credential works again; sending resumes.",
            metadata: ["push.service": "\(device.service.rawValue)", "space.id": "\(device.space)"])
        do {
            try await credentials.markGood(device.service.credential, in: device.space)
            signal.wake()
        } catch {
            log.warn("Could not clear the broken mark of a push credential; the next accepted push retries.", error)
        }
    }

    /// Counts a rejection of the credential, the first since its last hold ended.
    private func recordRejection(_ device: Device, _ sendCredentials: PushTransport.SendCredentials, _ reason: String)
        async
    {
        let (lane, time, version) = (
            DeliveryLane(space: device.space, service: device.service), now(),
            sendCredentials.current.versions[device.service.credential]
        )
        let isBroken = state.withLock {
            $0.rejections.record(lane, version: version, rejectionPeriod: rejectionPeriod, at: time)
        }
        if isBroken, !sendCredentials.current.isBroken(device.service.credential) {
            await markBroken(device.service, device.space, sendCredentials, reason, isRetried: true)
        }
    }

    /// Whether the failure would also affect other deliveries.
    private static func isUnreachable(_ reason: String) -> Bool {
        !["cancelled", "shut-down", "queue-full"].contains(reason)
    }

    private func hold(_ target: Holds.Target, upTo delay: TimeInterval) -> (length: Duration, isNew: Bool) {
        let time = now()
        return state.withLock { state in
            let isNew = state.holds.end(target.space ?? 0, target.service, isSandbox: target.isSandbox, at: time) == nil
            return (.seconds(state.holds.backOff(target, upTo: delay, at: time)), isNew)
        }
    }

    private func forget(
        _ device: Device, _ since: Date, _ failure: PushFailure, _ sendCredentials: PushTransport.SendCredentials
    ) async {
        let token = GoneToken(
            space: device.space, installation: device.id, token: device.token, unlessRegisteredSince: since)
        // Without a status, our own client found the token malformed. That is certain, so the breaker does not apply.
        let isDoubtful = device.service == .apns && failure.status != nil && failure.reason == TokenRateBreaker.reason
        let time = now()
        let trips = state.withLock { state in
            if device.service == .apns, state.breaker.record(device.space, bad: isDoubtful ? token : nil, at: time) {
                return true
            }
            if !isDoubtful, state.gone.count < Self.maximumGone { state.gone.append(token) }
            return false
        }
        if trips { await markBroken(.apns, device.space, sendCredentials, TokenRateBreaker.sentence, isRetried: false) }
    }

    private func markBroken(
        _ service: PushService, _ space: Int32, _ sendCredentials: PushTransport.SendCredentials, _ reason: String,
        isRetried: Bool
    ) async {
        let kind = service.credential
        log.logger.warning(
            "Suspended a push credential that was rejected.",
            metadata: ["push.service": "\(service.rawValue)", "space.id": "\(space)", "error.cause": "\(reason)"])
        do {
            try await credentials.markBroken(
                kind, in: space, version: sendCredentials.current.versions[kind], reason: reason, isRetried: isRetried)
        } catch {
            log.warn("Could not mark a push credential as broken; the next rejection retries.", error)
        }
    }

    private static let maximumGone = 10_000
    private static let tokensPerStatement = 1_000

    /// Deletes tokens that push services reported as gone.
    func forgetTokens() async throws {
        let time = now()
        while !Task.isCancelled {
            let some = state.withLock { state in
                state.gone += state.breaker.take(at: time)
                let some = Array(state.gone.prefix(Self.tokensPerStatement))
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
    /// Whether the answer proves that the push service accepted the credential.
    fileprivate var provesCredential: Bool {
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
