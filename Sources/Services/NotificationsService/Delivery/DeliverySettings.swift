import MartletHTTP

/// Settings for sending: `push.concurrency` (4,000), the maximum number of deliveries in flight per instance;
/// `push.lease` (60 s), how long they stay claimed if the instance dies; and `push.journal.directory`, where the
/// answers of push services are journaled.
struct DeliverySettings: Sendable {
    /// The maximum number of deliveries that are claimed and whose results are not yet written. Two APNs connections
    /// carry 2,000 requests; the rest are being read or written.
    var concurrency = 4_000
    /// After a process dies, its deliveries stay claimed for this long before another one takes them.
    var lease: Duration = .seconds(60)
    /// Must be on a disk that outlives the process; instances may share it. Nil disables the journal: deliveries
    /// answered just before a crash are then sent again.
    var journalDirectory: String?
    /// How often to poll the queue without a notification: for lost notifications, due deliveries, and paused or
    /// cancelled messages.
    var pollInterval: Duration = .milliseconds(500)
    /// How long a message that this version cannot read waits for another version to send it, before it fails.
    var unreadableLifetime: Duration = .seconds(3_600)
    /// How long a push service must keep rejecting a credential before it counts as broken.
    var rejectionPeriod: Duration = .seconds(30)
    /// How long to wait for answers at shutdown.
    var shutdownGrace: Duration = .seconds(3)

    /// Short enough that a blocked statement can be retried while the leases are valid.
    var statementLimit: Duration { max(lease / 6, .seconds(1)) }

    init() {}

    init(_ settings: Settings) throws {
        concurrency = try settings.integer("push.concurrency", default: concurrency, in: 10...20_000)
        lease = .seconds(try settings.integer("push.lease", default: 60, in: 2...600))
        journalDirectory = settings.optionalString("push.journal.directory")
    }
}
