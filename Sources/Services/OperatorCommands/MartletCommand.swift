public import ArgumentParser

/// The `martlet` command for operators.
public struct MartletCommand: AsyncParsableCommand {
    public static let configuration = CommandConfiguration(
        commandName: "martlet",
        abstract: "Runs and manages a Martlet server.",
        discussion: "Commands that touch the database read its address from MARTLET_DATABASE_URL.",
        subcommands: [
            UpCommand.self, MigrateCommand.self, AppCommand.self, KeyCommand.self, StaffCommand.self,
            DoctorCommand.self,
            HealthCommand.self, OpenAPICommand.self, TypesCommand.self, RulesCommand.self,
        ])

    public init() {}
}
