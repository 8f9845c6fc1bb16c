public import Foundation

/// The number of requests that a gateway handled in one minute, as reported to `analytics`.
///
/// Wire shape of `POST /internal/requests`, answered with 204. Idempotent: a gateway that receives no answer sends the
/// same report again, and each minute of a gateway counts once.
public struct RequestCounts: Codable, Sendable, Equatable {
    /// The maximum number of counts in one report; there is one per service and class.
    public static let maximumCounts = 256

    /// Identifies the gateway's process; new after each start.
    public var gateway: UUID
    /// When the minute began.
    public var minute: Date
    /// Counts are positive, and each combination occurs once.
    public var counts: [Count]

    public init(gateway: UUID, minute: Date, counts: [Count]) {
        self.gateway = gateway
        self.minute = minute
        self.counts = counts
    }

    public struct Count: Codable, Sendable, Equatable {
        /// The service whose routes were requested; `none` if no route matched.
        public var service: String
        /// The first digit of the status.
        public var statusClass: Int
        public var count: Int
        /// The total duration of these requests, each from the first byte of the head to the last byte of the answer.
        public var microseconds: Int64

        public init(service: String, statusClass: Int, count: Int, microseconds: Int64) {
            self.service = service
            self.statusClass = statusClass
            self.count = count
            self.microseconds = microseconds
        }
    }
}
