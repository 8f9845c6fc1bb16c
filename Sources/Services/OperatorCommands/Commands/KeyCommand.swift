import ArgumentParser
import AuthService
import Foundation
import MartletAPI
import MartletCore

/// `martlet key create|list|revoke`
struct KeyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "key", abstract: "Creates, lists and revokes an app's keys and secrets.",
        discussion:
            "To rotate a key without an outage, create a new one, deploy it, and revoke the old one once its `last used` time stops changing.",
        subcommands: [Create.self, List.self, Revoke.self])

    struct Create: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Creates a key or secret and prints its text, which is shown only once.")

        @Option(help: "The app's id.")
        var app: String

        @Option(help: "client (an app key), secret, ingest, evaluation or master.")
        var kind: String

        @Option(help: "live or test; for client, ingest and evaluation.")
        var environment = "live"

        @Option(help: "Its purpose, at most 200 characters.")
        var label = ""

        @Option(help: "Days until it expires. Default: valid until revoked.")
        var expiresInDays: Int?

        @Option(help: "CIDR block from which it is accepted; may be repeated.")
        var network: [String] = []

        @Option(help: "Limits a secret or master key to an area such as storage, or to storage:read; may be repeated.")
        var scope: [String] = []

        @Flag(help: "Print JSON.")
        var json = false

        private struct Answer: Encodable {
            var key: String
            var record: CredentialRecord
        }

        func run() async throws {
            guard let kind = CredentialKind(rawValue: kind) else {
                throw ValidationError(
                    "expected client, secret, ingest, evaluation or master as kind, found \(JSONValue.excerpt(self.kind))"
                )
            }
            guard let environment = AppEnvironment(rawValue: environment) else {
                throw ValidationError(
                    "expected live or test as environment, found \(JSONValue.excerpt(self.environment))")
            }
            guard label.unicodeScalars.count <= 200 else {
                throw ValidationError(
                    "expected a label of at most 200 characters, found \(label.unicodeScalars.count) characters")
            }
            guard expiresInDays.map({ (1...36_500).contains($0) }) ?? true else {
                throw ValidationError("expected 1 to 36500 days until the expiry")
            }
            guard network.allSatisfy(NetworkBlock.isValid) else {
                throw ValidationError("expected networks as CIDR blocks such as 10.0.0.0/8")
            }
            guard scope.allSatisfy({ KeyScope($0) != nil }) else {
                let areas = KeyArea.allCases.map(\.rawValue).joined(separator: ", ")
                throw ValidationError("expected scopes that are one of \(areas), optionally followed by :read")
            }
            guard scope.isEmpty || kind == .secret || kind == .master else {
                throw ValidationError("only secrets and master keys can be limited")
            }
            let expires = expiresInDays.map { Date(timeIntervalSinceNow: Double($0) * 86_400) }
            let made = try await Database.withClient { client in
                guard try await AppStore(postgres: client).find(app) != nil else {
                    throw ValidationError("no such app: \(app)")
                }
                return try await CredentialStore(postgres: client).create(
                    NewCredential(
                        kind: kind, environment: environment, label: label, expires: expires,
                        networks: network.isEmpty ? nil : network,
                        scopes: scope.isEmpty ? nil : scope), of: app)
            }
            let key = made.text.withValue { $0 }
            if json { return try Output.json(Answer(key: key, record: made.record)) }
            print(key)
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Lists an app's keys and secrets without their text.")

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
                        $0.label, $0.scopes?.joined(separator: " ") ?? "all", text($0.created), text($0.expires),
                        text($0.revoked), text($0.lastUsed),
                    ]
                })
        }
    }

    struct Revoke: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Revokes a key or secret. Takes effect at every gateway within two seconds.")

        @Argument(help: "Its id, from `martlet key list`.")
        var id: String

        func run() async throws {
            guard let id = UUID(uuidString: id) else {
                throw ValidationError("expected a UUID as id, found \(JSONValue.excerpt(self.id))")
            }
            guard try await Database.withClient({ try await CredentialStore(postgres: $0).revoke(id) }) else {
                throw ValidationError("no active key or secret has this id")
            }
            print("revoked")
        }
    }
}
