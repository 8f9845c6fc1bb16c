import ArgumentParser
import AuthService
import Foundation
import MartletAPI
import MartletCore

/// `martlet key create|list|revoke`
struct KeyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "key", abstract: "Makes, lists and revokes an app's keys and secrets.",
        discussion: "To rotate one without an outage: create, ship, revoke the old one when `last used` stands still.",
        subcommands: [Create.self, List.self, Revoke.self])

    struct Create: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Makes a key or secret and prints it: it is shown this once.")

        @Option(help: "The app's id.")
        var app: String

        @Option(help: "client (an app key), secret, ingest, evaluation or master.")
        var kind: String

        @Option(help: "live or test; for client, ingest and evaluation.")
        var environment = "live"

        @Option(help: "What it is for, at most 200 characters.")
        var label = ""

        @Option(help: "Days until it is refused; without it, until revoked.")
        var expiresInDays: Int?

        @Option(help: "CIDR block it may come from; may be repeated.")
        var network: [String] = []

        @Option(help: "What a secret or master key is limited to: an area such as storage, or storage:read; may be repeated.")
        var scope: [String] = []

        @Flag(help: "Print JSON.")
        var json = false

        private struct Answer: Encodable {
            var key: String
            var record: CredentialRecord
        }

        func run() async throws {
            guard let kind = CredentialKind(rawValue: kind) else { throw ValidationError("no such kind: \(kind)") }
            guard let environment = AppEnvironment(rawValue: environment) else {
                throw ValidationError("an environment is live or test")
            }
            guard label.unicodeScalars.count <= 200 else { throw ValidationError("a label has at most 200 characters") }
            guard expiresInDays.map({ (1...36_500).contains($0) }) ?? true else {
                throw ValidationError("days are 1 to 36500")
            }
            guard network.allSatisfy(NetworkBlock.isOne) else { throw ValidationError("a network is a CIDR block such as 10.0.0.0/8") }
            guard scope.allSatisfy({ KeyScope($0) != nil }) else {
                throw ValidationError("a scope is one of \(KeyArea.allCases.map(\.rawValue).joined(separator: ", ")), perhaps with :read behind it")
            }
            guard scope.isEmpty || kind == .secret || kind == .master else { throw ValidationError("only secrets and master keys can be limited") }
            let expires = expiresInDays.map { Date(timeIntervalSinceNow: Double($0) * 86_400) }
            let made = try await Database.withClient { client in
                guard try await AppStore(postgres: client).find(app) != nil else { throw ValidationError("no such app: \(app)") }
                return try await CredentialStore(postgres: client).create(
                    NewCredential(
                        kind: kind, environment: environment, label: label, expires: expires, networks: network.isEmpty ? nil : network,
                        scopes: scope.isEmpty ? nil : scope), of: app)
            }
            let key = made.text.withValue { $0 }
            if json { return try Output.json(Answer(key: key, record: made.record)) }
            print(key)
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Lists an app's keys and secrets, without their text.")

        @Option(help: "The app's id.")
        var app: String

        @Flag(help: "Print JSON.")
        var json = false

        func run() async throws {
            let records = try await Database.withClient { try await CredentialStore(postgres: $0).list(of: app) }
            if json { return try Output.json(records) }
            func text(_ date: Date?) -> String { date?.formatted(.iso8601) ?? "-" }
            Output.table(
                ["id", "kind", "environment", "ends", "label", "scopes", "created", "expires", "revoked", "last used"],
                records.map {
                    [
                        $0.id.uuidString.lowercased(), $0.kind.rawValue, $0.environment?.rawValue ?? "-", "…" + $0.hint,
                        $0.label, $0.scopes?.joined(separator: " ") ?? "all", text($0.created), text($0.expires), text($0.revoked), text($0.lastUsed),
                    ]
                })
        }
    }

    struct Revoke: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Ends a key or secret, at every gateway within two seconds.")

        @Argument(help: "Its id, from `martlet key list`.")
        var id: String

        func run() async throws {
            guard let id = UUID(uuidString: id) else { throw ValidationError("an id is a UUID") }
            guard try await Database.withClient({ try await CredentialStore(postgres: $0).revoke(id) }) else {
                throw ValidationError("no live key or secret has this id")
            }
            print("revoked")
        }
    }
}
