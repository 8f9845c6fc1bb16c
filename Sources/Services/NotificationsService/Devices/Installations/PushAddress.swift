import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPush

/// The push service of a device, and the device's address there.
///
/// `{"service":"apns","token","sandbox","bundleId"}`, `{"service":"fcm","token"}`, or
/// `{"service":"webpush","subscription":{"endpoint","keys":{"p256dh","auth"}}}` with the output of a browser's
/// `PushSubscription.toJSON()`.
struct PushAddress: Sendable, Equatable {
    private static let maximumTokenLength = 4_096

    var service: PushService
    var isSandbox = false
    var token: String
    var publicKey: String?
    var authSecret: String?
    var bundleID: String?

    init(
        service: PushService, isSandbox: Bool = false, token: String, publicKey: String? = nil,
        authSecret: String? = nil, bundleID: String? = nil
    ) {
        self.service = service
        self.isSandbox = isSandbox
        self.token = token
        self.publicKey = publicKey
        self.authSecret = authSecret
        self.bundleID = bundleID
    }

    /// - Throws: `invalid-body` that names the member.
    init(_ json: JSONValue) throws {
        let fields = try BodyFields(json, ["service", "token", "sandbox", "bundleId", "subscription"])
        let name = try fields.requiredString("service")
        guard let service = PushService(rawValue: name) else {
            let expected = PushService.allCases.map(\.rawValue).joined(separator: ", ")
            throw ServiceError.unexpectedMember("service", expected: "one of \(expected)", found: name)
        }
        let notAllowed: Set<String> =
            switch service {
            case .apns: ["subscription"]
            case .fcm: ["sandbox", "bundleId", "subscription"]
            case .webpush: ["token", "sandbox", "bundleId"]
            }
        for name in notAllowed.sorted() where fields[name] != nil {
            throw ServiceError(.invalidBody, "This is not allowed with \(service.rawValue).", field: name)
        }
        switch service {
        case .apns: try self.init(apns: fields)
        case .fcm: try self.init(fcm: fields)
        case .webpush: try self.init(webPush: fields)
        }
    }

    /// The app must state the APNs environment, because a token does not reveal it.
    private init(apns fields: BodyFields) throws {
        let token = try fields.requiredString("token").lowercased()
        let probe = APNsNotification(to: token, EncodedPayload(.object([])), bundleID: "probe")
        if let fault = probe.fault { throw ServiceError(.invalidBody, fault.sentence, field: "token") }
        guard let isSandbox = try fields.flag("sandbox") else {
            throw ServiceError(
                .invalidBody,
                "Expected true for an app signed for development, or false for TestFlight and the App Store.",
                field: "sandbox")
        }
        let bundleID = try fields.string("bundleId")
        if let bundleID, !BundleID.isValid(bundleID) {
            throw ServiceError(
                .invalidBody, "Expected a bundle id: letters, digits, dots and hyphens.", field: "bundleId")
        }
        self.init(service: .apns, isSandbox: isSandbox, token: token, bundleID: bundleID)
    }

    private init(fcm fields: BodyFields) throws {
        let token = try fields.requiredString("token")
        guard (1...Self.maximumTokenLength).contains(token.utf8.count),
            token.utf8.allSatisfy({ (0x21...0x7e).contains($0) })
        else {
            throw ServiceError(
                .invalidBody, "Expected 1 to \(Self.maximumTokenLength) printable ASCII characters.",
                field: "token")
        }
        self.init(service: .fcm, token: token)
    }

    private init(webPush fields: BodyFields) throws {
        guard let value = fields["subscription"] else {
            throw ServiceError(.invalidBody, "This field is required.", field: "subscription")
        }
        self = try ServiceError.inside("subscription") {
            let subscription = try BodyFields(value, ["endpoint", "expirationTime", "keys"])
            let keys = try subscription.strings(in: "keys", ["p256dh", "auth"])
            let address = PushAddress(
                service: .webpush, token: try subscription.requiredString("endpoint"), publicKey: keys["p256dh"] ?? "",
                authSecret: keys["auth"] ?? "")
            do {
                _ = try WebPushSubscription(
                    endpoint: address.token, publicKey: address.publicKey ?? "",
                    authenticationSecret: address.authSecret ?? "")
            } catch let error as WebPushSubscriptionError {
                let field =
                    switch error {
                    case .invalidEndpoint: "endpoint"
                    case .invalidPublicKey: "keys.p256dh"
                    case .invalidAuthenticationSecret: "keys.auth"
                    }
                throw ServiceError(.invalidBody, error.sentence, field: field)
            }
            return address
        }
    }

    /// Enough of the token to tell devices apart but not to send to one: its beginning, or the host of an endpoint.
    var hint: String {
        guard service == .webpush else { return String(token.prefix(min(8, token.count / 2))) + "…" }
        return (URL(string: token)?.host() ?? "") + "/…"
    }
}
