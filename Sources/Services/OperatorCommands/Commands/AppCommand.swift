import ArgumentParser
import AuthService
import Foundation

/// `martlet app create|list`, and `backup|backups|verify|restore|delete` of the Debian package.
struct AppCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "app", abstract: "Creates, lists, archives and deletes apps.",
        subcommands: [
            Create.self, List.self, AppBackupCommand.self, AppBackupsCommand.self, AppVerifyCommand.self,
            AppRestoreCommand.self, AppDeleteCommand.self,
        ])

    struct Create: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Creates an app and prints its first keys, which are shown only once.")

        @Option(help: "The app's name, 1 to 200 characters.")
        var name: String

        @Flag(help: "Print JSON.")
        var json = false

        func validate() throws {
            guard (1...200).contains(name.unicodeScalars.count) else {
                throw ValidationError(
                    "expected a name of 1 to 200 characters, found \(name.unicodeScalars.count) characters")
            }
        }

        func run() async throws {
            let app = try await Database.withClient { try await NewApp.create(name: name, in: $0) }
            if json { return try Output.json(app) }
            Output.table(
                ["what", "value"],
                [
                    ["app id", app.appId], ["project number", String(app.appNumber)], ["app key", app.appKey],
                    ["secret", app.secret], ["master key", app.masterKey ?? "-"], ["test app key", app.testAppKey],
                    ["ingest key", app.ingestKey], ["evaluation key", app.evaluationKey],
                ])
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Lists the apps.")

        @Flag(help: "Print JSON.")
        var json = false

        func run() async throws {
            let apps = try await Database.withClient { try await AppStore(postgres: $0).list() }
            if json { return try Output.json(apps) }
            Output.table(
                ["id", "number", "name", "created"],
                apps.map { [$0.id, String($0.number), $0.name, $0.created.formatted(.iso8601)] })
        }
    }
}
