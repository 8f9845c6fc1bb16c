import Foundation
import Logging
import MartletCore
import MartletPushSimulator
import MartletTesting
import NIOCore
import NIOPosix
import Synchronization
import Testing

@testable import MartletPush

/// A simulator that knows a key, and clients for it.
struct TestAPNs: Sendable {
    let simulator: APNsSimulator
    let key = SimulatedKey()
    let clock: MovedClock

    static let topic = "com.example.bikes"

    func configuration(_ change: (inout APNsConfiguration) -> Void = { _ in }) -> APNsConfiguration {
        var configuration = APNsConfiguration(
            host: simulator.host, port: simulator.port, trustedCertificates: simulator.trustedCertificates)
        // A slow machine must not end connections or requests; tests of these limits set shorter ones.
        configuration.connectLimit = .seconds(120)
        configuration.waitLimit = .seconds(600)
        configuration.answerLimit = .seconds(300)
        configuration.pingLimit = .seconds(300)
        configuration.firstDelay = .milliseconds(20)
        configuration.maximumDelay = .milliseconds(200)
        change(&configuration)
        return configuration
    }

    /// Lends a client, and shuts it down.
    func withClient<Result>(
        key: APNsKey? = nil, _ change: (inout APNsConfiguration) -> Void = { _ in },
        _ body: (APNsClient) async throws -> Result
    ) async throws -> Result {
        let client = try APNsClient(configuration(change), key: try key ?? credential(), logger: .quiet, now: clock.now)
        do {
            let result = try await body(client)
            await client.shutDown()
            return result
        } catch {
            await client.shutDown()
            throw error
        }
    }

    func credential() throws -> APNsKey {
        try APNsKey(keyID: key.keyID, teamID: key.teamID, privateKey: Secret(key.pem))
    }

    static func message(to device: String, _ text: String = "Hello") -> APNsNotification {
        APNsNotification(to: device, APNsPayload(alert: APNsAlert(body: text)).encoded(), bundleID: topic)
    }

    static func device(_ number: Int) -> String { String(format: "%064x", number) }
}

/// Lends a simulator.
///
/// - Parameter ahead: How far its clock is ahead of the clients', in seconds.
func withAPNs(
    _ change: (inout APNsSimulator.Behaviour) -> Void = { _ in }, ahead: TimeInterval = 0,
    _ body: (TestAPNs) async throws -> Void
) async throws {
    let clock = MovedClock()
    var behaviour = APNsSimulator.Behaviour()
    change(&behaviour)
    let simulator = try await APNsSimulator.start(behaviour, clock: { clock.now() + ahead })
    let test = TestAPNs(simulator: simulator, clock: clock)
    simulator.trust(test.key)
    do {
        try await body(test)
        await simulator.stop()
    } catch {
        await simulator.stop()
        throw error
    }
}

/// A clock that stands still until it is moved.
final class MovedClock: Sendable {
    /// The clock starts in the middle of a provider token's lifetime.
    private let time = Mutex(Date(timeIntervalSince1970: 1_795_200_000 + 600))

    var now: @Sendable () -> Date { { self.time.withLock { $0 } } }
    func move(by seconds: TimeInterval) { time.withLock { $0 += seconds } }
}

extension APNsClient {
    /// Sends to many devices at once; returns the outcomes by device.
    func sendAll(_ devices: some Sequence<String>) async -> [String: PushOutcome] {
        await withTaskGroup(of: (String, PushOutcome).self) { group in
            for device in devices { group.addTask { (device, await self.send(TestAPNs.message(to: device))) } }
            return await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
        }
    }
}

extension PushOutcome {
    var isAccepted: Bool { if case .accepted = self { true } else { false } }
    var failure: PushFailure? { if case .failed(let failure) = self { failure } else { nil } }
    var reason: String? { failure?.reason }
    var meaning: PushFailure.Meaning? { failure?.meaning }
}

extension Logger {
    static let quiet = Logger(label: "tests") { _ in SwiftLogNoOpLogHandler() }
}

/// A Python with the packages of `deploy/test-tools.txt`: `MARTLET_TEST_PYTHON`, which `deploy/test` sets.
enum TestTools {
    static let python = ProcessInfo.processInfo.environment["MARTLET_TEST_PYTHON"].flatMap { $0.isEmpty ? nil : $0 }
}

/// Waits for a condition; records a failure if it does not hold in time.
@discardableResult
func eventually(
    within limit: Duration = .seconds(60), sourceLocation: SourceLocation = #_sourceLocation,
    _ condition: () async -> Bool
) async -> Bool {
    do {
        try await MartletTesting.eventually(within: limit, condition)
        return true
    } catch {
        Issue.record(error, sourceLocation: sourceLocation)
        return false
    }
}
