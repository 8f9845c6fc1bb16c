import Foundation
import MartletCore
import MartletPushSimulator

/// A simulated APNs for drills. It runs in its own process, so that it survives the processes that send.
///
/// Writes these files to its folder: `credential.json`, the body of `PUT …/credentials/apns` for sending to it;
/// `certificate.pem`, the certificate to trust; `port`; and, several times a second, `seen.json` with what has arrived:
/// `{"devices","requests","arrivals":{"1":n,"2":n},"shown":{"1":n}}`. `arrivals` counts pushes by how often they
/// arrived, and `shown` counts devices by the number of messages that their user sees; messages with the same collapse
/// id count once. `pushes.jsonl` gets a line for each of the first 10,000 pushes: `{"device","payload"}`.
enum CountingService {
    /// The typical latency to Apple's servers.
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
        try write("", "pushes.jsonl", folder)
        let pushes = try FileHandle(forWritingTo: folder.appending(path: "pushes.jsonl"))
        var count = 0
        while !Task.isCancelled {
            try write(seen(simulator).text, "seen.json", folder)
            let new = simulator.requests.dropFirst(count)
            count += new.count
            try pushes.write(contentsOf: Data(new.map(line).joined().utf8))
            try await Task.sleep(for: .milliseconds(200))
        }
    }

    private static func seen(_ simulator: APNsSimulator) -> JSONValue {
        .object([
            .init("devices", .number("\(simulator.deviceCount)")),
            .init("requests", .number("\(simulator.requestCount)")),
            .init("arrivals", counts(simulator.messageCountsByDeliveries)),
            .init("shown", counts(simulator.deviceCountsByShownMessages)),
        ])
    }

    private static func line(_ push: SimulatedRequest) -> String {
        let payload = (try? JSONValue(parsing: push.payload)) ?? .null
        return JSONValue.object([.init("device", .string(push.device)), .init("payload", payload)]).text + "\n"
    }

    private static func counts(_ counts: [Int: Int]) -> JSONValue {
        .object(counts.sorted { $0.key < $1.key }.map { .init("\($0.key)", .number("\($0.value)")) })
    }

    /// Writes atomically, so that readers never see an incomplete file.
    private static func write(_ text: String, _ name: String, _ folder: URL) throws {
        try Data(text.utf8).write(to: folder.appending(path: name), options: .atomic)
    }
}
