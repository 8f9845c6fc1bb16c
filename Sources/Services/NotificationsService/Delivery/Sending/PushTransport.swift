import Foundation
import MartletPush

/// The way of one push to its push service.
struct PushTransport: Sendable {
    let credentials: PushCredentials
    let clients: PushClients

    /// What a delivery is sent with.
    struct SendCredentials: Sendable {
        var current: PushCredentials.Current
        var fcm: FCMClient?
    }

    func sendCredentials(of space: Int32) async throws -> SendCredentials {
        let current = try await credentials.current(space)
        return SendCredentials(current: current, fcm: clients.fcm(current, of: space))
    }

    /// Why nothing can be sent to the device by these means; nil: nothing is known against it.
    ///
    /// - Parameters:
    ///   - isTrial: a credential that is broken is to be tried.
    ///   - isKnown: the queue knows of the device's service: it is left alone as long as the credential is broken.
    func obstacle(_ device: Device, _ sendCredentials: SendCredentials, isTrial: Bool, isKnown: Bool) -> Verdict? {
        let kind = device.service.credential
        guard sendCredentials.current.versions[kind] != nil else { return .failed("no-credential") }
        guard !sendCredentials.current.canSend(by: device.service),
            !(isTrial && sendCredentials.current.has(device.service))
        else { return nil }
        let delay = isKnown ? Verdict.notSentDelay : .seconds(300) * Double.random(in: 1...1.3)
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
            // Each browser says itself where it is reached: nothing follows for others, and nobody is asked for ever.
            guard case .failed(let failure) = outcome, failure.reason == "unreachable" else { return outcome }
            return .failed(PushFailure(.backOff(.device, atLeast: .seconds(60)), reason: failure.reason))
        }
        return .failed(PushFailure(.notSent, reason: "no-credential"))
    }
}
