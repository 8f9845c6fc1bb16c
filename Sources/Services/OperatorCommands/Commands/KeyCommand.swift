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

        @Option(help: "CIDR block a master key may come from; may be repeated.")
        var network: [String] = []

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
            guard label.count <= 200 else { throw ValidationError("a label has at most 200 characters") }
            guard expiresInDays.map({ (1...36_500).contains($0) }) ?? true else {
                throw ValidationError("days are 1 to 36500")
            }
            guard network.allSatisfy(Self.isNetwork) else { throw ValidationError("a network is a CIDR block such as 10.0.0.0/8") }
            let expires = expiresInDays.map { Date(timeIntervalSinceNow: Double($0) * 86_400) }
            let made = try await Database.withClient { client in
                guard try await AppStore(postgres: client).find(app) != nil else { throw ValidationError("no such app: \(app)") }
                return try await CredentialStore(postgres: client).create(
                    kind, environment: environment, label: label, expires: expires,
                    networks: network.isEmpty ? nil : network, of: app)
            }
            let key = made.text.withValue { $0 }
            if json { return try Output.json(Answer(key: key, record: made.record)) }
            print(key)
        }

        private static func isNetwork(_ text: String) -> Bool {
            let parts = text.split(separator: "/", omittingEmptySubsequences: false)
            guard parts.count == 2, let bits = Int(parts[1]), bits >= 0 else { return false }
            var address = in6_addr()
            if inet_pton(AF_INET, String(parts[0]), &address) == 1 { return bits <= 32 }
            return inet_pton(AF_INET6, String(parts[0]), &address) == 1 && bits <= 128
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
                ["id", "kind", "environment", "ends", "label", "created", "expires", "revoked", "last used"],
                records.map {
                    [
                        $0.id.uuidString.lowercased(), $0.kind.rawValue, $0.environment?.rawValue ?? "-", "…" + $0.hint,
                        $0.label, text($0.created), text($0.expires), text($0.revoked), text($0.lastUsed),
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
