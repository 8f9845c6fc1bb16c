import ArgumentParser
import AuthService
import Foundation
import MartletCore

/// `martlet staff create|list|reset-password|disable`
struct StaffCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "staff", abstract: "Creates, lists and disables staff members, and resets passwords.",
        discussion: "The audit log records changes by these commands under `operator`.",
        subcommands: [Create.self, List.self, ResetPassword.self, Disable.self])

    struct Create: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Creates an administrator.",
            discussion:
                "Reads the password from the first line of standard input. If it is empty, generates one and prints it."
        )

        @Option(help: "1 to 100 characters from a-z 0-9 . _ @ -, starting with a letter or digit.")
        var userName: String

        func run() async throws {
            guard userName.wholeMatch(of: /[a-z0-9][a-z0-9._@-]{0,99}/) != nil else {
                throw ValidationError(
                    "expected a user name of 1 to 100 characters from a-z 0-9 . _ @ -, starting with a letter or digit"
                )
            }
            let password = try NewPassword.read()
            let isNew = try await Database.withClient {
                try await StaffStore(postgres: $0).create(
                    userName: userName, password: password.text, isAdministrator: true)
            }
            guard isNew else { throw ValidationError("this user name is taken") }
            print(password.isGiven ? "created" : password.text.withValue { $0 })
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Lists the staff.")

        @Flag(help: "Print JSON.")
        var json = false

        func run() async throws {
            let records = try await Database.withClient { try await StaffStore(postgres: $0).list() }
            if json { return try Output.json(records) }
            func text(_ isSo: Bool) -> String { isSo ? "yes" : "-" }
            Output.table(
                ["user name", "administrator", "disabled", "must reset", "second factor", "last sign-in"],
                records.map {
                    [
                        $0.userName, text($0.isAdministrator), text($0.isDisabled), text($0.mustReset),
                        text($0.hasSecondFactor),
                        $0.lastSignIn?.formatted(.iso8601) ?? "-",
                    ]
                })
        }
    }

    struct ResetPassword: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Sets a staff member's password, to be changed at the next sign-in, and ends all their sessions.",
            discussion:
                "Reads the password from the first line of standard input. If it is empty, generates one and prints it."
        )

        @Argument(help: "The user name.")
        var userName: String

        @Flag(help: "Remove the second factor, too, if the authenticator app and the recovery codes are lost.")
        var removeSecondFactor = false

        func run() async throws {
            let password = try NewPassword.read()
            let exists = try await Database.withClient {
                try await StaffStore(postgres: $0).resetPassword(
                    of: userName, to: password.text, removesSecondFactor: removeSecondFactor)
            }
            guard exists else { throw ValidationError("no staff member has this user name") }
            print(password.isGiven ? "reset" : password.text.withValue { $0 })
        }
    }

    struct Disable: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Disables a staff member. Takes effect at every gateway within two seconds.",
            discussion: "An administrator can enable them again with PATCH /admin/staff/{id} with {\"disabled\":false}."
        )

        @Argument(help: "The user name.")
        var userName: String

        func run() async throws {
            do {
                let exists = try await Database.withClient { try await StaffStore(postgres: $0).disable(userName) }
                guard exists else { throw ValidationError("no staff member has this user name") }
            } catch is LastAdministratorError {
                throw ValidationError("the last administrator cannot be disabled")
            }
            print("disabled")
        }
    }
}

/// A password from standard input, or a generated one.
private struct NewPassword {
    let text: Secret
    let isGiven: Bool

    static func read() throws -> NewPassword {
        let given = isatty(STDIN_FILENO) == 0 ? readLine(strippingNewline: true) ?? "" : ""
        guard !given.isEmpty else { return NewPassword(text: .random(), isGiven: false) }
        guard given.utf8.count >= 12 else { throw ValidationError("expected a password of at least 12 bytes") }
        return NewPassword(text: Secret(given), isGiven: true)
    }
}
