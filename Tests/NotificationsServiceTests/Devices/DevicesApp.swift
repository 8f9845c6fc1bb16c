import Foundation
import MartletCore
import MartletHTTP
import MartletPostgres
import MartletPush
import MartletPushSimulator
import MartletTesting
import NIOCore
import Testing

@testable import NotificationsService

/// An app on a device, with an id and a secret of its own.
struct TestDevice: Sendable {
    var id = UUID().uuidString.lowercased()
    var secret = Secret.random().withValue { $0 }

    var headers: [String: String] { ["Installation-Secret": secret] }
    var path: String { "/installations/\(id)" }

    /// A random APNs device token.
    static func token() -> String { Hexadecimal.text((0..<32).map { _ in UInt8.random(in: .min ... .max) }) }

    static func ios(_ token: String = token(), sandbox: Bool = false, more: String = "") -> String {
        #"{"platform":"ios","push":{"service":"apns","token":"\#(token)","sandbox":\#(sandbox)}\#(more)}"#
    }
}

extension NotificationsApp {
    @discardableResult
    func ask(_ method: String, _ device: TestDevice, _ body: String? = nil, at path: String = "", user: String? = nil)
        async throws -> Answer
    {
        try await client(method, device.path + path, body, user: user, headers: device.headers)
    }

    /// The number of installations of all apps.
    func countInstallations() async throws -> Int {
        try await postgres.query("SELECT count(*) FROM notifications.installations")[0].decode(0)
    }

    static func json(_ key: SimulatedKey, bundles: String = #"["com.example.app"]"#, more: String = "") -> String {
        #"{"key":\#(JSONValue.quote(key.pem)),"keyId":"\#(key.keyID)","teamId":"\#(key.teamID)","bundleIds":\#(bundles)\#(more)}"#
    }
}

/// The push services of a test: both of Apple's environments, Google's, and a browser maker's.
struct PushServices: Sendable {
    let production, sandbox: APNsSimulator
    let fcm: FCMSimulator
    let webPush: WebPushSimulator

    static func with(_ body: @Sendable (PushServices, NotificationsOptions) async throws -> Void) async throws {
        let services = PushServices(
            production: try await .start(), sandbox: try await .start(), fcm: try await .start(),
            webPush: try await .start())
        var options = NotificationsOptions(internalSecret: NotificationsApp.internalSecret)
        options.devices.hosts.apns = { environment in
            let simulator = environment == .sandbox ? services.sandbox : services.production
            var configuration = APNsConfiguration(
                host: simulator.host, port: simulator.port, trustedCertificates: simulator.trustedCertificates)
            (configuration.connectLimit, configuration.answerLimit) = (.seconds(120), .seconds(120))
            (configuration.waitLimit, configuration.pingLimit) = (.seconds(300), .seconds(300))
            return configuration
        }
        options.devices.hosts.fcmAddress = services.fcm.address
        options.devices.hosts.outgoing = OutgoingClient(.anywhere, version: .upToHTTP2)
        var failure: (any Error)?
        do { try await body(services, options) } catch { failure = error }
        await services.production.stop()
        await services.sandbox.stop()
        services.fcm.stop()
        services.webPush.stop()
        if let failure { throw failure }
    }
}
