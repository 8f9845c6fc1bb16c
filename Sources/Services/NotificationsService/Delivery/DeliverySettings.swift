import MartletHTTP

/// How messages leave: `push.concurrency` (4,000) deliveries a copy has in hand at the most, `push.lease` (60 s) for
/// which they are its own when it dies, `push.journal.directory` where it notes what push services have answered.
struct DeliverySettings: Sendable {
    /// Claimed and not yet written down. Two connections to APNs carry 2,000 requests; the rest is what is being read
    /// and written.
    var concurrency = 4_000
    /// Behind the end of a process its deliveries wait so long until another one takes them.
    var lease: Duration = .seconds(60)
    /// On a disk that outlives the process; copies may share it. Nil: nothing is noted, and what a copy was answered
    /// just before it died is sent again.
    var journalDirectory: String?
    /// How often to look at the queue when nobody tells of anything: a lost notification, what becomes due, paused and
    /// cancelled messages.
    var pollInterval: Duration = .milliseconds(500)
    /// For how long nobody may have sent anything of a message that this version cannot read, until it has failed.
    var patienceWithUnreadable: Duration = .seconds(3_600)
    /// For how long a push service has to refuse a credential until it counts as broken.
    var patience: Duration = .seconds(30)
    /// How long answers are waited for when the service is shut down.
    var shutdownGrace: Duration = .seconds(3)

    init() {}

    init(_ settings: Settings) throws {
        concurrency = try settings.integer("push.concurrency", default: concurrency, in: 10...20_000)
        lease = .seconds(try settings.integer("push.lease", default: 60, in: 2...600))
        journalDirectory = settings.optionalString("push.journal.directory")
    }
}
