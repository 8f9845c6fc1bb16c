import Crypto
import Foundation
import Logging
import MartletCore
import MartletPush

/// Measures how fast messages are sent to a server that accepts all of them: `pushbench HOST PORT CERTIFICATE [COUNT]`.
/// Run by `deploy/bench push`. `pushbench simulator FOLDER` starts such a server, which counts what arrives
/// (`CountingService`).
///
/// Uses two connections. Each message has a badge and its own id, and a separate task waits for each answer. Prints
/// messages per second of wall-clock time and of CPU time, including all threads of the process.
@main
enum Pushbench {
    private static let device = String(repeating: "00fc13adff785122", count: 4)
    private static let concurrency = 2_000

    static func main() async throws {
        let arguments = CommandLine.arguments
        if arguments.count == 3, arguments[1] == "simulator" {
            return try await CountingService.run(in: URL(filePath: arguments[2]))
        }
        guard arguments.count >= 4, let port = Int(arguments[2]) else {
            return report("usage: pushbench HOST PORT CERTIFICATE [COUNT]")
        }
        let count = arguments.count > 4 ? Int(arguments[4]) ?? 100_000 : 100_000
        let certificate = try String(contentsOfFile: arguments[3], encoding: .utf8)
        let key = try APNsKey(
            keyID: "BENCHBENCH", teamID: "BENCHBENCH", privateKey: Secret(P256.Signing.PrivateKey().pemRepresentation))
        let client = try APNsClient(
            APNsConfiguration(host: arguments[1], port: port, trustedCertificates: certificate), key: key,
            logger: Logger(label: "pushbench"), now: { Date() })

        _ = await send(1_000, client)
        let (clock, cpu) = (ContinuousClock.now, cpuSeconds())
        let outcomes = await send(count, client)
        let (wall, used) = ((ContinuousClock.now - clock) / .seconds(1), cpuSeconds() - cpu)
        let status = await client.status()
        await client.shutDown()
        report(
            "\(Int(Double(count) / wall)) messages/s, \(Int(Double(count) / used)) per second of CPU, \(status.connections) connections"
        )
        for (outcome, times) in outcomes.sorted(by: { $0.value > $1.value }) { report("\(times) \(outcome)") }
    }

    /// - Returns: The number of times each outcome occurred.
    private static func send(_ count: Int, _ client: APNsClient) async -> [String: Int] {
        await withTaskGroup(of: PushOutcome.self) { group in
            var outcomes: [String: Int] = [:]
            func record(_ outcome: PushOutcome) {
                if case .failed(let failure) = outcome {
                    outcomes[failure.reason, default: 0] += 1
                } else {
                    outcomes["accepted", default: 0] += 1
                }
            }
            for index in 0..<count {
                if index >= concurrency, let outcome = await group.next() { record(outcome) }
                group.addTask { await client.send(message(index)) }
            }
            for await outcome in group { record(outcome) }
            return outcomes
        }
    }

    private static func message(_ index: Int) -> APNsNotification {
        var payload = APNsPayload(
            alert: APNsAlert(title: "Your bicycle was seen", body: "Somebody saw it near the station, 4 minutes ago."))
        payload.badge = index % 100
        payload.sound = .named("default")
        payload.threadID = "sightings"
        payload.custom = [.init("sighting", .string("0193a000-0000-7000-8000-000000000000"))]
        return APNsNotification(to: device, payload.encoded(), bundleID: "com.example.bikes")
    }

    private static func cpuSeconds() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    private static func report(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }
}
