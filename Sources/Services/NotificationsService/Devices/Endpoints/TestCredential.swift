import Foundation
import Hummingbird
import Logging
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres
import MartletPush

/// Takes either `installation` or `push`.
///
/// An accepted push clears the broken mark of the credential; a rejected credential is marked as broken. Tokens are
/// kept even when the push service reports them as gone.
struct TestCredential: Endpoint {
    static let route = Route(
        .post, "/notifications/credentials/{kind}/test", "testCredential",
        "Sends a real push immediately and returns the push service's result.",
        callers: .manager(.create, .notifications),
        parameters: [
            .path("kind", .oneOf("apns", "fcm", "webpush", "smtp"))
        ],
        body: .json(
            .object(
                [
                    "installation": .uuid,
                    "push": .pushAddress,
                    "title": .string.maxLength(200),
                    "body": .string.maxLength(200),
                ])),
        answers: [
            .answer(200, "The push service's result.", .json(.pushOutcome))
        ],
        errors: [
            404: """
            The app has no push credential of this kind, or no such installation (`credential-not-found`, \
            `installation-not-found`).
            """
        ])

    private static let maximumTextLength = 200
    private static let lifetime: TimeInterval = 3_600

    let spaces: Spaces
    let devices: Devices

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, _) = try await context.notifications(may: .create, spaces)
        let kind = try context.credentialKind
        guard let service = PushService.allCases.first(where: { $0.credential == kind }) else {
            throw ServiceError(.credentialNotFound)
        }
        let fields = try await BodyFields(request, ["installation", "push", "title", "body"])
        let text = try Text(fields, upTo: Self.maximumTextLength)
        // Another instance may have changed the credential a moment ago.
        devices.credentials.forget(space.id)
        let current = try await devices.credentials.current(space.id)
        let device = try await device(fields, service, space)
        let outcome = try await send(text, to: device, by: service, current)
        try await record(outcome, of: kind, current, in: space)
        return .json(outcome.json.text)
    }

    /// The text of the test push.
    private struct Text {
        var title: String
        var body: String

        init(_ fields: BodyFields, upTo limit: Int) throws {
            title = try fields.string("title") ?? "Test"
            body = try fields.string("body") ?? "This device gets messages."
            for (name, text) in [("title", title), ("body", body)] where text.utf8.count > limit {
                throw ServiceError(.invalidBody, "Expected at most \(limit) bytes.", field: name)
            }
        }
    }

    private func device(_ fields: BodyFields, _ service: PushService, _ space: Space) async throws -> Device {
        guard (fields["installation"] == nil) != (fields["push"] == nil) else {
            throw ServiceError(
                .invalidBody, "Name the target: either an installation id, or a push address as in an installation.",
                field: "installation")
        }
        if let value = fields["push"] {
            let push = try ServiceError.inside("push") { try PushAddress(value) }
            guard push.service == service else {
                throw ServiceError(
                    .invalidBody, "Expected a push address of \(service.rawValue).", field: "push.service")
            }
            return Device(
                id: UUID(), space: space.id, platform: Platform.allCases.first { $0.services.first == service } ?? .web,
                service: service,
                isSandbox: push.isSandbox, token: push.token, publicKey: push.publicKey, authSecret: push.authSecret,
                bundleID: push.bundleID)
        }
        guard let id = try fields.string("installation").flatMap({ UUID(uuidString: $0) }) else {
            throw ServiceError(.invalidBody, "Expected an installation id, a UUID.", field: "installation")
        }
        guard let device = try await devices.installations.device(id, in: space.id) else {
            throw ServiceError(.invalidBody, "This installation has no push token.", field: "installation")
        }
        guard device.service == service else {
            throw ServiceError(
                .invalidBody, "This installation is not reached by \(service.rawValue).", field: "installation")
        }
        return device
    }

    /// - Throws: `credential-not-found`; `invalid-body` for a bundle id that the credential does not cover.
    private func send(_ text: Text, to device: Device, by service: PushService, _ current: PushCredentials.Current)
        async throws -> PushOutcome
    {
        switch service {
        case .apns:
            guard let credential = current.apns else { throw ServiceError(.credentialNotFound) }
            guard let bundleID = credential.bundleID(of: device) else {
                throw ServiceError(
                    .invalidBody, "The credential does not cover the bundle id of this device.", field: "push.bundleId")
            }
            var payload = APNsPayload(alert: APNsAlert(title: text.title, body: text.body))
            payload.sound = .named("default")
            let notification = APNsNotification(
                to: device.token, payload.encoded(), bundleID: bundleID,
                expiration: devices.now().addingTimeInterval(Self.lifetime))
            return try await devices.clients.apns.send(
                notification, key: credential.key(for: device.environment), to: device.environment)
        case .fcm:
            guard let client = devices.clients.fcm(current, of: device.space) else {
                throw ServiceError(.credentialNotFound)
            }
            var message = FCMMessage(to: .token(device.token))
            message.title = text.title
            message.body = text.body
            message.timeToLive = .seconds(Self.lifetime)
            return await client.send(message)
        case .webpush:
            guard let key = current.webPush else { throw ServiceError(.credentialNotFound) }
            let subscription = try WebPushSubscription(
                endpoint: device.token, publicKey: device.publicKey ?? "", authenticationSecret: device.authSecret ?? ""
            )
            let payload = EncodedPayload(
                .object([.init("title", .string(text.title)), .init("body", .string(text.body))]))
            let client = devices.clients.webPush(device.host ?? "", of: device.space)
            return await client.send(
                WebPushMessage(payload, timeToLive: .seconds(Self.lifetime)), to: subscription, as: key)
        }
    }

    private func record(
        _ outcome: PushOutcome, of kind: CredentialKind, _ current: PushCredentials.Current, in space: Space
    ) async throws {
        switch outcome {
        case .accepted: try await devices.credentials.markGood(kind, in: space.id)
        case .failed(let failure) where failure.meaning == .credentialBroken:
            try await devices.credentials.markBroken(
                kind, in: space.id, version: current.versions[kind], reason: failure.reason, isRetried: true)
        case .failed: break
        }
    }
}

extension PushOutcome {
    /// `{"outcome":"accepted","id","uniqueId"}` or `{"outcome":"failed","meaning","reason","status"}`.
    var json: JSONValue {
        switch self {
        case .accepted(let receipt):
            return .object(
                [.init("outcome", .string("accepted"))]
                    + [("id", receipt.id), ("uniqueId", receipt.uniqueID)].compactMap { name, value in
                        value.map { .init(name, .string($0)) }
                    })
        case .failed(let failure):
            var members: [JSONValue.Member] = [
                .init("outcome", .string("failed")), .init("meaning", .string(failure.meaning.word)),
                .init("reason", .string(failure.reason)),
            ]
            if let status = failure.status { members.append(.init("status", .number(String(status)))) }
            return .object(members)
        }
    }
}

extension PushFailure.Meaning {
    fileprivate var word: String {
        switch self {
        case .notSent: "notSent"
        case .unknown: "unknown"
        case .deviceGone: "deviceGone"
        case .messageRejected: "messageRejected"
        case .backOff: "backOff"
        case .credentialBroken: "credentialBroken"
        }
    }
}
