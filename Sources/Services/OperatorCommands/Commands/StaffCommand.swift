import ArgumentParser
import AuthService
import Foundation
import MartletCore

/// `martlet staff create`
struct StaffCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "staff", abstract: "Makes staff members.", subcommands: [Create.self])

    struct Create: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Makes an administrator.",
            discussion: "Reads the password from the first line of standard input; with none, makes one and prints it.")

        @Option(help: "1 to 100 of a-z 0-9 . _ @ -, a letter or digit first.")
        var userName: String

        func run() async throws {
            guard userName.wholeMatch(of: /[a-z0-9][a-z0-9._@-]{0,99}/) != nil else {
                throw ValidationError("a user name is 1 to 100 of a-z 0-9 . _ @ -, a letter or digit first")
            }
            let given = isatty(STDIN_FILENO) == 0 ? readLine(strippingNewline: true) ?? "" : ""
            guard given.isEmpty || given.utf8.count >= 12 else { throw ValidationError("a password has at least 12 characters") }
            let password = given.isEmpty ? Secret.random() : Secret(given)
            let isNew = try await Database.withClient {
                try await StaffStore(postgres: $0).create(userName: userName, password: password, isAdministrator: true)
            }
            guard isNew else { throw ValidationError("this user name is taken") }
            print(given.isEmpty ? password.withValue { $0 } : "created")
        }
    }
}
