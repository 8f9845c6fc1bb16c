/// What a process and its machine have used since the process's last report.
///
/// Wire shape of `POST /internal/status`, which every process sends to `auth` about once a minute; answered with `{}`.
/// Not idempotent: a report that was not answered is not sent again.
public struct UsageReport: Codable, Sendable, Equatable {
    public static let maximumValues = 64

    /// By name of the series, such as `host.cpu.user`. Names that `auth` does not know are ignored, so that processes
    /// of different versions work together.
    public var values: [String: Double]

    public init(values: [String: Double]) {
        self.values = values
    }
}
