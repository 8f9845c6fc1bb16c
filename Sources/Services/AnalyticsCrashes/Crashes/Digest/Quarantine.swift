import CoreMetrics
import Foundation
import Logging

/// Keeps records that cannot be digested or stored in a folder next to the spools, for inspection. Records beyond the
/// limits are dropped and counted.
struct Quarantine: Sendable {
    /// Enough files to diagnose a problem. All instances of the service share the limit.
    private static let maximumFiles = 1_000
    private static let maximumSizeInBytes = 256 << 20

    private let folder: String
    private let logger: Logger
    private let refused = Counter(label: "martlet_analytics_crash_records_total", dimensions: [("outcome", "refused")])
    private let dropped = Counter(label: "martlet_analytics_crash_records_total", dimensions: [("outcome", "dropped")])
    private let kept = Gauge(label: "martlet_analytics_crash_records_set_aside")

    /// - Parameter directory: The directory of the spools.
    init(directory: String, logger: Logger) {
        folder = directory + "/refused"
        self.logger = logger
        kept.record((try? FileManager.default.contentsOfDirectory(atPath: folder).count) ?? 0)
    }

    func put(_ records: [[UInt8]], because error: any Error) throws {
        guard !records.isEmpty else { return }
        logger.error(
            "Could not process crash reports; setting them aside, not retrying.",
            metadata: ["error.cause": "\(error)", "crash.records": "\(records.count)"])
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        let files = try FileManager.default.contentsOfDirectory(atPath: folder)
        var count = files.count
        defer { kept.record(count) }
        var size = files.reduce(0) {
            $0 + ((try? FileManager.default.attributesOfItem(atPath: "\(folder)/\($1)")[.size] as? Int) ?? 0)
        }
        for record in records {
            guard count < Self.maximumFiles, size + record.count <= Self.maximumSizeInBytes else {
                dropped.increment()
                logger.error(
                    "Could not set aside a crash report, because the folder is full; dropping it.",
                    metadata: ["crash.folder": "refused"])
                continue
            }
            try Data(record).write(to: URL(fileURLWithPath: folder + "/" + UUID().uuidString.lowercased()))
            refused.increment()
            count += 1
            size += record.count
        }
    }
}
