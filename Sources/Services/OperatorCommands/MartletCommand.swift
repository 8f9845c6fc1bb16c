public import ArgumentParser
import MartletCore

/// The `martlet` command for operators.
public struct MartletCommand: AsyncParsableCommand {
    public static let configuration = CommandConfiguration(
        commandName: "martlet",
        abstract: "Runs and manages a Martlet server.",
        discussion: "Commands that touch the database read its address from MARTLET_DATABASE_URL.",
        version: MartletVersion.current,
        subcommands: [
            SetupCommand.self, UpCommand.self, MigrateCommand.self, AppCommand.self, KeyCommand.self,
            StaffCommand.self, BackupCommand.self, RestoreCommand.self, ConnectionCommand.self, DoctorCommand.self,
            HealthCommand.self, OpenAPICommand.self, RulesCommand.self, TypesCommand.self,
            UpgradeCommand.self, VersionCommand.self,
        ])

    public init() {}
}
