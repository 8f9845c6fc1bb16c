package import AnalyticsShared
package import AnalyticsTickets
package import Foundation
package import Logging
package import MartletFiles
package import MartletHTTP
package import MartletJobs
package import MartletPostgres
package import ServiceLifecycle

/// Crash reports, from the spool to issues.
package struct Crashes: Sendable {
    let spaces: Spaces
    let intake: CrashIntake
    let issues: IssueStore
    let exceptions: TBAnalyticsExceptionStore
    let releases: SentryReleases
    let digester: CrashDigester
    let retention: CrashRetention
    let sweep: CrashAttachmentSweep
    let sharing: CrashQuotaSharing
    let tracking: IssueTracking
    private let reprocessing: Reprocessing

    /// Reports are symbolicated with `symbols`; feedback that arrives with them goes to `tickets`.
    package init(
        postgres: PostgresClient, spaces: Spaces, files: any FileBackend, settings: CrashSettings,
        staff: StaffDirectory, symbols: Symbols, tickets: Tickets, logger: Logger,
        now: @escaping @Sendable () -> Date
    ) {
        self.init(
            postgres: postgres, spaces: spaces, files: files, settings: settings, staff: staff,
            helpers: CrashHelpers(symbols: symbols, feedback: tickets.feedback), logger: logger, now: now
        ) { numbers, commit, space, transaction in
            try await tickets.store.complete(numbers, because: commit, in: space, transaction)
        }
    }

    init(
        postgres: PostgresClient, spaces: Spaces, files: any FileBackend, settings: CrashSettings,
        staff: StaffDirectory = .empty,
        helpers: CrashHelpers = CrashHelpers(), logger: Logger, now: @escaping @Sendable () -> Date,
        completeTickets: @escaping CommitFixes.CompleteTickets = { _, _, _, _ in }
    ) {
        self.spaces = spaces
        let spool = SpoolWriter(directory: settings.spoolDirectory, sizeInBytes: settings.spoolSizeInBytes)
        let threads = DigestionThreads()
        let store = DigestStore(postgres: postgres, releases: ReleaseStore(now: now), helpers: helpers, now: now)
        let quota = CrashQuota(settings.quota, now: now)
        intake = CrashIntake(spool: spool, quota: quota, logger: logger, now: now)
        sharing = CrashQuotaSharing(postgres: postgres, quota: quota, logger: logger)
        issues = IssueStore(postgres: postgres)
        exceptions = TBAnalyticsExceptionStore(postgres: postgres)
        releases = SentryReleases(
            postgres: postgres, spaces: spaces, store: store.releases,
            fixes: CommitFixes(completeTickets: completeTickets), now: now)
        digester = CrashDigester(
            writer: spool, directory: settings.spoolDirectory,
            digestion: EnvelopeDigestion(
                spaces: spaces, files: files,
                attachmentQuota: AttachmentQuota(postgres: postgres, limitInBytes: settings.attachmentsInBytes),
                helpers: helpers,
                logger: logger),
            store: store, threads: threads, budget: settings.cpuTimePerReport, logger: logger)
        retention = CrashRetention(postgres: postgres, files: files, days: settings.retentionInDays, logger: logger)
        sweep = CrashAttachmentSweep(postgres: postgres, files: files, logger: logger, now: now)
        let moveTickets: IssueMerging.MoveReferences = { old, new, transaction in
            try await TicketStore.moveIssue(from: old, to: new, transaction)
        }
        reprocessing = Reprocessing(
            postgres: postgres, store: store, helpers: helpers, threads: threads, budget: settings.cpuTimePerReport,
            logger: logger,
            moveReferences: moveTickets)
        tracking = IssueTracking(
            postgres: postgres, spaces: spaces, files: files, settings: settings, staff: staff, logger: logger,
            now: now,
            moveReferences: moveTickets)
    }

    package var background: [any Service] {
        [digester, retention, sweep, sharing, DropReporter(intake: intake)] + tracking.background
    }

    package var userData: any UserDataHolder { tracking.userData }

    /// Job handlers for the service's worker.
    package func handlers(symbols: Symbols) -> [any JobHandler] {
        symbols.handlers(rerun: digestAgain, addSources: addSources) + tracking.handlers
    }

    /// Symbolicates and groups stored reports again, at most `Reprocessing.maximumEvents` of them. Ids of deleted
    /// reports are skipped.
    func digestAgain(_ eventIDs: [UUID], in space: Space) async throws {
        try await reprocessing.digestAgain(eventIDs, in: space)
    }

    /// Adds the source lines around each frame to stored reports, with the same limit.
    func addSources(to eventIDs: [UUID], in space: Space) async throws {
        try await reprocessing.addSources(to: eventIDs, in: space)
    }
}
