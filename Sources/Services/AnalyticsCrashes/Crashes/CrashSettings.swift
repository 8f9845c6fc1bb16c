import MartletCore
package import MartletHTTP

/// Settings below `crashes.…`.
package struct CrashSettings: Sendable {
    /// Where reports wait until they are stored in PostgreSQL. The disk must outlive the process.
    var spoolDirectory = ".martlet/crash-spool"
    var spoolSizeInBytes = 1_024 << 20
    /// Per app and environment, shared by all instances of the service.
    var quota = CrashQuota.Limits()
    /// Total size of the attachments of all reports, per app and environment.
    var attachmentsInBytes = 10 << 30
    var retentionInDays = 90
    /// CPU time for digesting one report with everything that came with it.
    var cpuTimePerReport: Duration = .seconds(5)
    var alerts = AlertSettings(secret: .random())

    package init() {}

    /// - Throws: `SettingsError`.
    package init(_ settings: Settings) throws {
        spoolDirectory = settings.string("crashes.spool.directory", default: spoolDirectory)
        spoolSizeInBytes = try settings.integer("crashes.spool.megabytes", default: 1_024, in: 64...1_048_576) << 20
        quota.errors = try settings.integer("crashes.quota.errors", default: quota.errors, in: 1...100_000_000)
        quota.sessions = try settings.integer("crashes.quota.sessions", default: quota.sessions, in: 1...100_000_000)
        quota.attachments = try settings.integer(
            "crashes.quota.attachments", default: quota.attachments, in: 1...100_000_000)
        quota.feedback = try settings.integer("crashes.quota.feedback", default: quota.feedback, in: 1...100_000_000)
        attachmentsInBytes =
            try settings.integer("crashes.attachments.megabytes", default: 10_240, in: 1...1_073_741_824) << 20
        retentionInDays = try settings.integer("crashes.retention.days", default: 90, in: 1...3_650)
        alerts = try AlertSettings(settings)
    }
}
