import ArgumentParser
import Foundation
import MartletCore
import MartletPostgres
import Testing

@testable import OperatorCommands

@Suite struct UpgradePlanTests {
    private static let now = Date(timeIntervalSince1970: 1_800_000_000)

    private static func plan(_ state: MigrationState, backup: Date? = nil) -> UpgradePlan {
        UpgradePlan(
            schemas: [UpgradePlan.Schema(name: "auth", known: [(1, "apps"), (2, "users")], state: state)],
            running: ["auth": "0.8.0", "storage": "0.8.0"], lastBackup: backup, now: now)
    }

    @Test func `the plan names versions, migrations that are missing, and the age of the last backup`() {
        let lines = Self.plan(MigrationState(pending: [2]), backup: Self.now - 180).lines
        #expect(lines[0] == "from 0.8.0" && lines[1] == "to   \(MartletVersion.current)")
        #expect(lines.contains("  auth 2 users") && !lines.contains("  auth 1 apps"))
        #expect(lines.contains { $0.contains("the last one is 3 minutes old") })
        #expect(Self.plan(MigrationState(pending: [2])).obstacles.isEmpty)
    }

    @Test func `without pending migrations and without a backup the plan says so`() {
        let lines = Self.plan(MigrationState()).lines
        #expect(lines.contains("The database needs no migration."))
        #expect(lines.contains { $0.contains("there is no backup on this machine") })
    }

    @Test(arguments: [MigrationState(edited: [1]), MigrationState(unknown: [9])])
    func `a database that this version cannot run on stands in the way`(_ state: MigrationState) {
        let plan = Self.plan(state)
        #expect(plan.obstacles.count == 1)
        #expect(plan.lines.last?.hasPrefix("WRONG migration") == true && plan.lines.count == 3)
    }

    @Test func `an upgrade without --plan is refused`() {
        #expect(throws: (any Error).self) { try MartletCommand.parseAsRoot(["upgrade"]) }
        #expect(throws: Never.self) { try MartletCommand.parseAsRoot(["upgrade", "--plan"]) }
    }
}
