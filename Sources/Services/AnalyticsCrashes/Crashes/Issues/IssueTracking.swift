import AnalyticsShared
import Foundation
import Logging
import MartletAPI
import MartletCore
import MartletFiles
import MartletHTTP
import MartletJobs
import MartletPostgres
import ServiceLifecycle

/// The life of issues after their creation: queries, changes, alerts, retention and removal.
struct IssueTracking: Sendable {
    let spaces: Spaces
    let reader: IssueReader
    let reports: IssueReports
    let timeline: IssueTimeline
    let suspects: SuspectCommits
    let facets: IssueFacets
    let releases: ReleaseHealth
    let changes: IssueChanges
    let merging: IssueMerging
    let removal: IssueRemoval
    let retention: SpaceRetention
    let userData: CrashUserData
    let alerts: Alerts
    let staff: StaffDirectory
    let assignees: AssigneeNames
    let now: @Sendable () -> Date
    private let periodic: [any Service]

    /// - Parameter moveReferences: Called when an issue is merged into another.
    init(
        postgres: PostgresClient, spaces: Spaces, files: any FileBackend, settings: CrashSettings,
        staff: StaffDirectory, logger: Logger, now: @escaping @Sendable () -> Date,
        moveReferences: @escaping IssueMerging.MoveReferences = { _, _, _ in }
    ) {
        self.spaces = spaces
        self.staff = staff
        self.now = now
        assignees = AssigneeNames(directory: staff)
        let queue = JobQueue(postgres: postgres, schema: ServiceName.analytics.rawValue)
        reader = IssueReader(postgres: postgres)
        reports = IssueReports(postgres: postgres, files: files)
        timeline = IssueTimeline(postgres: postgres)
        suspects = SuspectCommits(postgres: postgres)
        facets = IssueFacets(postgres: postgres)
        releases = ReleaseHealth(postgres: postgres)
        changes = IssueChanges(postgres: postgres)
        merging = IssueMerging(postgres: postgres, moveReferences: moveReferences)
        removal = IssueRemoval(postgres: postgres, queue: queue, files: files)
        retention = SpaceRetention(postgres: postgres, removal: removal)
        userData = CrashUserData(postgres: postgres, spaces: spaces, removal: removal)
        alerts = Alerts(
            postgres: postgres, queue: queue, settings: settings.alerts, staff: staff, logger: logger, now: now)
        periodic = [IgnoreExpiry(changes: changes, logger: logger), ReportExpiry(retention: retention, logger: logger)]
    }

    /// The changes of issues that a body requests.
    ///
    /// - Throws: as `IssueChange.list`, and for an assignee as `StaffDirectory.check`.
    func changes(in body: BodyFields, by principal: Principal) async throws -> [IssueChange] {
        let changes = try IssueChange.list(body, at: now())
        for case .assign(let assignee?) in changes {
            try await staff.check(assignee, of: .crashes, assignedBy: principal)
        }
        return changes
    }

    /// An issue in the form in which endpoints return it.
    ///
    /// - Throws: `issue-not-found`.
    func answer(_ id: Int64, in space: Space) async throws -> String {
        try await assignees.named([try await reader.read(id, in: space)], .crashes, in: space)[0]
    }

    var background: [any Service] { periodic + alerts.background }

    /// Job handlers for the service's worker.
    var handlers: [any JobHandler] { [RemoveIssue(removal: removal)] + alerts.handlers }
}
