import Foundation
import MartletCore

/// A group of series that are shown together. The name of each series begins with the name of its group. The set of
/// series is fixed, which bounds the size of the history.
enum StatusGroup: String, CaseIterable, Sendable {
    case host, processes, database, jobs

    var series: [String] {
        switch self {
        case .host:
            [
                "cpu.user", "cpu.system", "cpu.waiting", "memory.size", "memory.used", "disk.size", "disk.used",
                "disk.read", "disk.written", "network.received", "network.sent",
            ].map { "host." + $0 }
        case .processes:
            (ServiceName.allCases.map(\.rawValue) + ["gateway"]).flatMap { process in
                ["cpu", "memory", "files", "slow"].map { "processes.\(process).\($0)" }
            }
        case .database:
            [
                "size", "connections", "milliseconds", "transactions", "rollbacks", "locked", "oldest", "dead",
            ].map { "database." + $0 }
        case .jobs: Self.queues.map { "jobs." + $0 }
        }
    }

    /// The config service has no jobs.
    static let servicesWithJobs = ServiceName.allCases.filter { $0 != .config }.map(\.rawValue)
    /// The queues that are measured: jobs of services, push deliveries and mail of apps.
    static let queues = servicesWithJobs + ["push", "mail"]

    static let allSeries = Set(allCases.flatMap(\.series))
}

/// The interval that one row of the history covers, and how long the row is kept. Longer intervals are kept longer, so
/// old history takes few rows.
struct StatusResolution: Sendable, Equatable {
    let seconds: Int
    let days: Int

    /// The finest first. The coarsest is kept for 13 months.
    static let all = [
        StatusResolution(seconds: 60, days: 2), StatusResolution(seconds: 900, days: 15),
        StatusResolution(seconds: 3_600, days: 62), StatusResolution(seconds: 86_400, days: 396),
    ]
    /// The maximum number of points of a series in one answer.
    static let maximumPoints = 800

    /// The finest resolution that still has data for the start of the range and covers the range with at most
    /// `maximumPoints` points. If none has data for the start, the coarsest. Nil if the range is too long for all.
    static func finest(from: Date, to: Date, now: Date) -> StatusResolution? {
        let possible = all.filter { to.timeIntervalSince(from) <= Double($0.seconds * maximumPoints) }
        return possible.first { from >= now.addingTimeInterval(-86_400 * Double($0.days)) } ?? possible.last
    }

    /// The start of the interval that contains a time.
    func start(of time: Date) -> Date {
        let length = Double(seconds)
        return Date(timeIntervalSince1970: (time.timeIntervalSince1970 / length).rounded(.down) * length)
    }
}
