import ArgumentParser
import Foundation
import MartletCore

/// `martlet migrate`
struct MigrateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "migrate", abstract: "Creates roles and schemas, and applies pending migrations.",
        discussion: """
            MARTLET_DATABASE_URL names a superuser. MARTLET_SERVICE_PASSWORD_AUTH, …_STORAGE, …_CONFIG, …_ANALYTICS and \
            …_NOTIFICATIONS set the passwords of the services' roles.
            """)

    func run() async throws {
        var passwords: [String: Secret] = [:]
        for service in ServiceRole.all {
            let variable = "MARTLET_SERVICE_PASSWORD_" + service.name.uppercased()
            passwords[service.name] = ProcessInfo.processInfo.environment[variable].map(Secret.init)
        }
        let lines = try await Database.withClient { [passwords] client in
            try await DatabaseSetup(client: client, passwords: passwords).run()
        }
        for line in lines { print("applied \(line)") }
        print(lines.isEmpty ? "up to date" : "\(lines.count) applied")
    }
}
