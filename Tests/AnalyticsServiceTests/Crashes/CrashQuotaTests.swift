import Foundation
import MartletAPI
import MartletPostgres
import MartletSentry
import MartletTesting
import Testing

@testable import AnalyticsCrashes
@testable import AnalyticsService

@Suite struct CrashQuotaTests {
    /// An instance of the service.
    private struct Copy {
        let quota: CrashQuota
        let sharing: CrashQuotaSharing

        init(_ app: AnalyticsApp, _ time: ManualClock, errors: Int) {
            quota = CrashQuota(
                CrashQuota.Limits(errors: errors, sessions: 5, attachments: 5, feedback: 5), now: { time.now })
            sharing = CrashQuotaSharing(postgres: app.postgres, quota: quota, logger: .silent)
        }

        /// How many of `count` reports it accepts.
        func take(_ count: Int, of appID: String) -> Int {
            (0..<count).count { _ in quota.take(.error, appID, .live) == nil }
        }
    }

    @Test func `Instances share a quota by exchanging their counts`() async throws {
        try await AnalyticsApp.run { app in
            _ = try await app.service.spaces.space(of: app.appID, .live)
            let time = ManualClock()
            let (one, two) = (Copy(app, time, errors: 10), Copy(app, time, errors: 10))
            #expect(one.take(4, of: app.appID) == 4 && two.take(3, of: app.appID) == 3)
            try await one.sharing.work()
            // The second instance learns of the four reports. The first one learns of the three once the second shares
            // them.
            try await two.sharing.work()
            #expect(one.take(1, of: app.appID) == 1)
            try await one.sharing.work()
            #expect(one.take(9, of: app.appID) == 2)
            #expect(two.take(1, of: app.appID) == 1, "the second copy does not know of the last three yet")
            for copy in [one, two] { try await copy.sharing.work() }
            #expect(one.take(1, of: app.appID) == 0 && two.take(1, of: app.appID) == 0)
            // Repeated counts do not add up, and a new instance learns the total.
            for copy in [one, two] { try await copy.sharing.work() }
            let three = Copy(app, time, errors: 12)
            #expect(three.take(1, of: app.appID) == 1)
            try await three.sharing.work()
            #expect(three.take(9, of: app.appID) == 0)
            #expect(
                try await app.rows("SELECT kind, used FROM analytics.crash_quotas WHERE space = %") == ["errors|12"])
            time.move(by: 60)
            #expect(two.take(11, of: app.appID) == 10)
            try await two.sharing.work()
            #expect(try await app.rows("SELECT used FROM analytics.crash_quotas WHERE space = %") == ["10"])
            #expect(one.take(1, of: app.appID) == 1)
            try await one.sharing.work()
            #expect(one.take(1, of: app.appID) == 0)
        }
    }

    @Test
    func
        `Late counts of a past minute change nothing, and counts of an app not yet known are sent later`()
        async throws
    {
        try await AnalyticsApp.run { app in
            let (early, late) = (ManualClock(), ManualClock())
            late.move(by: 60)
            let (one, two) = (Copy(app, early, errors: 5), Copy(app, late, errors: 5))
            #expect(one.take(5, of: "newcomer") == 5)
            try await one.sharing.work()
            #expect(one.quota.unshared(upTo: 10).counts.map(\.count) == [5])
            let space = try await app.service.spaces.space(of: "newcomer", .live)
            #expect(two.take(2, of: "newcomer") == 2)
            try await two.sharing.work()
            try await one.sharing.work()
            let used: [Int] = try await app.postgres.query(
                "SELECT used FROM analytics.crash_quotas WHERE space = \(space.id)"
            ).map { try $0.decode(0) }
            #expect(used == [2])
            #expect(two.take(9, of: "newcomer") == 3)
        }
    }
}
