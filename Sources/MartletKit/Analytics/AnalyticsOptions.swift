public import Foundation

extension Martlet {
    /// How events are recorded and sent.
    public struct AnalyticsOptions: Sendable {
        /// The number of events in a batch. A full batch is sent at once.
        public var batchSize = 50
        /// The longest time in seconds until events are sent. Nil: they are sent only when a batch is full, or by
        /// ``Analytics/flush()``.
        public var interval: TimeInterval? = 30
        /// The share of devices that record events, from 0 to 1. A device records all its events or none.
        public var sampling = 1.0
        /// The share of devices that record an event, by event name. Use it for frequent events.
        public var samplingByEvent: [String: Double] = [:]
        /// The maximum size of the waiting events on the device. Beyond it, the oldest are dropped.
        public var maximumQueueSizeInBytes = 4 << 20

        public init() {}
    }
}
