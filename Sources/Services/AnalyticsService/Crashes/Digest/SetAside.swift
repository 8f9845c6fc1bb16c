import CoreMetrics
import Foundation
import Logging

/// Where records go that nothing can be done with: kept beside the spools, for a person to look at. What there is no room for is dropped, and counted.
struct SetAside: Sendable {
    /// Enough to see what is wrong; of all copies of the service together.
    private static let maximumFiles = 1_000
    private static let maximumSizeInBytes = 256 << 20

    /// Of the spools.
    let directory: String
    let logger: Logger
    private let refused = Counter(label: "martlet_analytics_crash_records_total", dimensions: [("outcome", "refused")])
    private let dropped = Counter(label: "martlet_analytics_crash_records_total", dimensions: [("outcome", "dropped")])
    private let kept = Gauge(label: "martlet_analytics_crash_records_set_aside")

    init(directory: String, logger: Logger) {
        self.directory = directory
        self.logger = logger
    }

    func put(_ records: [[UInt8]], because error: any Error) throws {
        guard !records.isEmpty else { return }
        refused.increment(by: records.count)
        logger.error("A crash report is set aside and not tried again.", metadata: ["error.cause": "\(error)", "crash.records": "\(records.count)"])
        let folder = directory + "/refused"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        let files = try FileManager.default.contentsOfDirectory(atPath: folder)
        var count = files.count
        defer { kept.record(count) }
        var size = files.reduce(0) { $0 + ((try? FileManager.default.attributesOfItem(atPath: "\(folder)/\($1)")[.size] as? Int) ?? 0) }
        for record in records {
            guard count < Self.maximumFiles, size + record.count <= Self.maximumSizeInBytes else {
                dropped.increment()
                logger.error("There is no room for a crash report that is set aside; it is dropped.", metadata: ["crash.folder": "refused"])
                continue
            }
            try Data(record).write(to: URL(fileURLWithPath: folder + "/" + UUID().uuidString.lowercased()))
            count += 1
            size += record.count
        }
    }
}
