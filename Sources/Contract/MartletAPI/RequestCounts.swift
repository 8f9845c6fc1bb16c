public import Foundation

/// How many requests a gateway had in one minute: what it reports to `analytics`.
///
/// Wire shape of `POST /internal/requests`, answered with 204. A gateway that got no answer sends the same again: a
/// minute of a gateway counts once.
public struct RequestCounts: Codable, Sendable, Equatable {
    /// The most in one report: of each service and class.
    public static let maximumCounts = 256

    /// Of the gateway's process: another one after each start.
    public var gateway: UUID
    /// When the minute began.
    public var minute: Date
    /// None is 0, and none is there twice.
    public var counts: [Count]

    public init(gateway: UUID, minute: Date, counts: [Count]) {
        self.gateway = gateway
        self.minute = minute
        self.counts = counts
    }

    public struct Count: Codable, Sendable, Equatable {
        /// Whose routes they were on; `none`: on no route.
        public var service: String
        /// First digit of the status.
        public var statusClass: Int
        public var count: Int
        /// All of them together, from the first byte of the head to the answer's last.
        public var microseconds: Int64

        public init(service: String, statusClass: Int, count: Int, microseconds: Int64) {
            self.service = service
            self.statusClass = statusClass
            self.count = count
            self.microseconds = microseconds
        }
    }
}
