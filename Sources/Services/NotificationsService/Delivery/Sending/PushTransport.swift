import Foundation
import MartletPush

/// Sends a push through its push service.
struct PushTransport: Sendable {
    let credentials: PushCredentials
    let clients: PushClients

    /// The credentials and the client for sending a space's deliveries.
    struct SendCredentials: Sendable {
        var current: PushCredentials.Current
        var fcm: FCMClient?
    }

    func sendCredentials(of space: Int32) async throws -> SendCredentials {
        let current = try await credentials.current(space)
        return SendCredentials(current: current, fcm: clients.fcm(current, of: space))
    }

    /// The reason why nothing can be sent to the device; nil if nothing prevents it.
    ///
    /// - Parameters:
    ///   - isTrial: Whether a broken credential is to be tested.
    ///   - isServiceKnown: Whether the queue knows the device's service, and therefore skips it while the credential is
    ///     broken.
    func blockingVerdict(
        _ device: Device, _ sendCredentials: SendCredentials, isTrial: Bool, isServiceKnown: Bool
    ) -> Verdict? {
        let kind = device.service.credential
        guard sendCredentials.current.versions[kind] != nil else { return .failed("no-credential") }
        guard !sendCredentials.current.canSend(by: device.service),
            !(isTrial && sendCredentials.current.has(device.service))
        else { return nil }
        let delay = isServiceKnown ? Verdict.notSentDelay : .seconds(300) * Double.random(in: 1...1.3)
        return .again(after: delay, reason: "credential-broken", counts: false)
    }

    func send(_ push: PushMessage, to device: Device, with sendCredentials: SendCredentials) async -> PushOutcome {
        switch push {
        case .apns(let notification):
            guard let credential = sendCredentials.current.apns else { break }
            let outcome = try? await clients.apns.send(
                notification, key: credential.key(for: device.environment), to: device.environment)
            return outcome ?? .failed(PushFailure(.notSent, reason: "no-certificates"))
        case .fcm(let message):
            guard let client = sendCredentials.fcm else { break }
            return await client.send(message)
        case .webPush(let message, let subscription):
            guard let key = sendCredentials.current.webPush else { break }
            let outcome = await clients.webPush(device.host ?? "", of: device.space).send(
                message, to: subscription, as: key)
            // Browsers choose the host, so an unreachable one says nothing about other hosts. Limit the retries.
            guard case .failed(let failure) = outcome, failure.reason == "unreachable" else { return outcome }
            return .failed(PushFailure(.backOff(.device, atLeast: .seconds(60)), reason: failure.reason))
        }
        return .failed(PushFailure(.notSent, reason: "no-credential"))
    }
}
