public import Foundation
import MartletKit

/// Third-party services, simulated on this machine by `deploy/with-simulators`.
public struct Simulators: Sendable {
    /// Two simulated APNs, with a folder for each; nil if there are none.
    let push: URL?
    /// A simulated identity provider; nil if there is none.
    let provider: URL?

    public init(push: URL?, provider: URL?) {
        self.push = push
        self.provider = provider
    }

    /// Reads the simulators from the environment of this process.
    public init(environment: [String: String] = ProcessInfo.processInfo.environment) {
        push = environment["MARTLET_TEST_PUSH"].map { URL(fileURLWithPath: $0) }
        provider = environment["MARTLET_TEST_PROVIDER"].flatMap { URL(string: $0) }
    }

    /// The APNs of an environment of the app.
    func apns(_ environment: Martlet.Environment) -> SimulatedAPNs? {
        push.map {
            SimulatedAPNs(folder: $0.appendingPathComponent(environment == .live ? "production" : "sandbox"))
        }
    }
}

/// Apple's push service, simulated in another process, which writes what it receives to a file.
struct SimulatedAPNs: Sendable {
    private static let settings = "credential.json"

    let folder: URL

    /// Configures an app to send by this service.
    func accept(_ app: ExampleApp) async throws {
        var credential = try JSON(parsing: Data(contentsOf: folder.appendingPathComponent(Self.settings)))
        credential["bundleIds"] = [.string(app.bundleID)]
        try await app.manage("PUT", "notifications/credentials/apns", credential)
    }

    /// The payloads that a device has received.
    func payloads(for token: Data) throws -> [JSON] {
        let device = token.map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16) }.joined()
        let lines = try Data(contentsOf: folder.appendingPathComponent("pushes.jsonl")).split(
            separator: UInt8(ascii: "\n"))
        // The last line may not be complete yet.
        return lines.compactMap { try? JSON(parsing: Data($0)) }.filter { $0["device"]?.stringValue == device }
            .compactMap { $0["payload"] }
    }

    /// Waits for a push with this text.
    func payload(for token: Data, saying body: String) async throws -> JSON {
        var found: JSON?
        try await Story.wait(for: "the push “\(body)”") {
            found = try payloads(for: token).first { $0["aps"]?["alert"]?["body"]?.stringValue == body }
            return found != nil
        }
        return found ?? .null
    }

    /// A token like those that APNs gives to devices.
    static func token() -> Data { Data((0..<32).map { _ in UInt8.random(in: 0...255) }) }
}
