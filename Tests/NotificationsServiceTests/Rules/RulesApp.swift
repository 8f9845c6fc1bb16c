import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres
import MartletTesting
import ServiceTesting
import Testing

@testable import NotificationsService

/// An app with objects in the real storage service, and rules that follow them.
struct RulesApp: Sendable {
    let app: NotificationsApp
    let storage: StorageInProcess

    static func run(
        copies: Int = 1,
        _ given: NotificationsOptions = NotificationsOptions(internalSecret: NotificationsApp.internalSecret),
        _ body: @escaping @Sendable (RulesApp) async throws -> Void
    ) async throws {
        try await MigratedDatabase.with { database in
            try await StorageInProcess.with(database, NotificationsApp.internalSecret) { storage in
                var options = given
                options.rules = RuleSettings(storage: storage.address)
                options.rules.arePrivateAddressesAllowed = true
                // A slow machine must not cause a rule to be refused.
                options.rules.storageTimeout = .seconds(120)
                try await run(copies, options, database, storage, body)
            }
        }
    }

    private static func run(
        _ copies: Int, _ options: NotificationsOptions, _ database: MigratedDatabase, _ storage: StorageInProcess,
        _ body: @escaping @Sendable (RulesApp) async throws -> Void
    ) async throws {
        try await NotificationsApp.run(options, database: database) { app in
            if copies > 1 {
                try await run(copies - 1, options, database, storage, body)
            } else {
                try await body(RulesApp(app: app, storage: storage))
            }
        }
    }

    /// Creates or replaces a valid rule.
    @discardableResult
    func rule(_ name: String, _ body: String, sourceLocation: SourceLocation = #_sourceLocation) async throws -> Answer
    {
        let answer = try await app.master("PUT", "/notifications/rules/\(name)", body)
        #expect([200, 201].contains(answer.status), "\(answer)", sourceLocation: sourceLocation)
        return answer
    }

    /// Runs `body` while no instance follows the app's changes.
    func whileNobodyFollows(_ body: () async throws -> Void) async throws {
        let space = try await app.space
        let other = UUID()
        // With another generation, no follower can continue.
        try await app.postgres.execute(
            "INSERT INTO notifications.rule_copies (copy, until) VALUES (\(other), now() + interval '1 hour')")
        try await app.postgres.execute(
            "UPDATE notifications.rule_feeds SET leased_by = \(other), generation = generation + 1 WHERE space = \(space.id)"
        )
        try await app.postgres.execute("SELECT pg_notify(\(RuleStore.channel), \(String(space.id)))")
        try await body()
        try await app.postgres.execute("DELETE FROM notifications.rule_copies WHERE copy = \(other)")
        try await app.postgres.execute("SELECT pg_notify(\(RuleStore.channel), \(String(space.id)))")
    }

    /// Creates a device of a user.
    func device(of user: String, channels: [String] = []) async throws {
        let space = try await app.space
        try await app.postgres.execute(
            """
            INSERT INTO notifications.installations (space, id, secret_digest, platform, service, token, bundle_id, token_registered, user_id, channels)
            VALUES (\(space.id), gen_random_uuid(), \([UInt8](repeating: 0, count: 32)), 'ios', 'apns', \(UUID().uuidString), 'x', now(), \(user), \(channels))
            """)
    }

    /// `rule title → users with a device` for all messages, in order of creation.
    func sent() async throws -> [String] {
        try await app.postgres.query(
            """
            SELECT m.author || ' ' || coalesce(m.content ->> 'title', '') || ' → ' || coalesce((
                SELECT string_agg(i.user_id, ',' ORDER BY i.user_id) FROM notifications.deliveries AS d
                JOIN notifications.installations AS i ON i.space = d.space AND i.id = d.installation WHERE d.message = m.id), '')
            FROM notifications.messages AS m ORDER BY m.created, m.id
            """
        ).map { try $0.decode(0) }
    }

    /// The outcomes of a rule's runs, oldest first.
    func outcomes(of rule: String) async throws -> [String] {
        try await app.postgres.query("SELECT outcome FROM notifications.rule_runs WHERE rule = \(rule) ORDER BY id").map
        { try $0.decode(0) }
    }

    func details(of rule: String) async throws -> [String] {
        try await app.postgres.query(
            "SELECT coalesce(detail, '') FROM notifications.rule_runs WHERE rule = \(rule) ORDER BY id"
        ).map { try $0.decode(0) }
    }
}

extension NotificationsApp {
    /// Runs `body` with the real storage service, which knows who has blocked whom.
    static func runWithStorage(_ body: @escaping @Sendable (NotificationsApp, StorageInProcess) async throws -> Void)
        async throws
    {
        try await RulesApp.run { try await body($0.app, $0.storage) }
    }
}
