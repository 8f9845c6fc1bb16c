import Foundation
import MartletCore
import MartletPushSimulator

/// A simulated APNs for drills, in a process of its own, which outlives those that send.
///
/// Writes into its folder: `credential.json`, with what `PUT …/credentials/apns` takes to send to it; `certificate.pem`, to be trusted; `port`; and
/// several times a second `seen.json` with what has arrived: `{"devices","requests","arrivals":{"1":n,"2":n},"shown":{"1":n}}`, where `arrivals` says how
/// often the same push came, and `shown` how many messages a device's user sees, those with the same collapse id being one.
enum CountingService {
    /// As far as Apple is.
    private static let answerDelay: Duration = .milliseconds(50)

    static func run(in folder: URL) async throws {
        var behaviour = APNsSimulator.Behaviour()
        behaviour.answerDelay = answerDelay
        let (simulator, key) = (try await APNsSimulator.start(behaviour), SimulatedKey())
        simulator.trust(key)
        let credential = JSONValue.object([
            .init("key", .string(key.pem)), .init("keyId", .string(key.keyID)), .init("teamId", .string(key.teamID)),
            .init("bundleIds", .array([.string("com.example.bikes")])),
        ])
        try write(simulator.trustedCertificates, "certificate.pem", folder)
        try write(credential.text, "credential.json", folder)
        try write("\(simulator.port)", "port", folder)
        while !Task.isCancelled {
            try write(seen(simulator).text, "seen.json", folder)
            try await Task.sleep(for: .milliseconds(200))
        }
    }

    private static func seen(_ simulator: APNsSimulator) -> JSONValue {
        .object([
            .init("devices", .number("\(simulator.deviceCount)")), .init("requests", .number("\(simulator.requestCount)")),
            .init("arrivals", counts(simulator.deliveriesByCount)), .init("shown", counts(simulator.devicesByShown)),
        ])
    }

    private static func counts(_ counts: [Int: Int]) -> JSONValue {
        .object(counts.sorted { $0.key < $1.key }.map { .init("\($0.key)", .number("\($0.value)")) })
    }

    /// As a whole: readers never see half of it.
    private static func write(_ text: String, _ name: String, _ folder: URL) throws {
        try Data(text.utf8).write(to: folder.appending(path: name), options: .atomic)
    }
}
