import Crypto
import Foundation
import MartletAPI
import MartletCore
import MartletJobs
import MartletPostgres

/// Accounts that are being deleted, and the receipts of their deletion.
struct DeletionStore: Sendable {
    /// How long the receipt of a finished deletion is kept.
    static let receiptDays: Int32 = 90

    let postgres: PostgresClient
    let jobs: JobQueue
    /// Revokes Apple's tokens.
    let revocation: TokenRevocation

    /// Gives access to the status of a deletion. The token is returned once.
    struct Receipt: Sendable {
        var id: UUID
        var token: Secret
    }

    /// Deletes an account's name, address, profile, credentials, sessions, exports and the invitations to its address,
    /// and enqueues the job that erases the rest. From then on no one can sign in to the account. Atomic; nil if there
    /// is no such user.
    ///
    /// Data that a later step of the job needs remains until the account's row is deleted.
    func begin(_ user: UUID, in space: AppSpace) async throws -> Receipt? {
        let receipt = Receipt(id: UUID(uuidString: UUIDv7.make()) ?? UUID(), token: .random())
        return try await postgres.withTransaction { transaction in
            try await transaction.execute(
                """
                DELETE FROM auth.invitations AS i USING auth.users AS u
                WHERE u.id = \(user) AND \(UserStore.isIn(space)) AND i.app_id = u.app_id AND i.environment = u.environment AND i.email = u.email
                """)
            let found = try await transaction.execute(
                """
                UPDATE auth.users AS u SET deleting = TRUE, disabled = TRUE, user_name = NULL, email = NULL, email_verified = FALSE,
                    password = NULL, profile = '{}', private = '{}', last_sign_in = NULL, updated = now()
                WHERE id = \(user) AND \(UserStore.isIn(space))
                """)
            guard found == 1 else { return nil }
            // Separate statements, because only a later statement sees the sessions of log-ins that the update above
            // waited for. Log-ins after the update see that the account is being deleted.
            let sessions = try await transaction.execute("DELETE FROM auth.sessions WHERE user_id = \(user)")
            try await transaction.execute("DELETE FROM auth.second_factors WHERE user_id = \(user)")
            try await transaction.execute("DELETE FROM auth.passkeys WHERE user_id = \(user)")
            try await transaction.execute("DELETE FROM auth.sign_in_places WHERE user_id = \(user)")
            try await transaction.execute("DELETE FROM auth.mail_proofs WHERE user_id = \(user)")
            try await transaction.execute("DELETE FROM auth.client_grants WHERE user_id = \(user)")
            try await revocation.begin(of: user, in: space, transaction)
            try await transaction.execute("DELETE FROM auth.identities WHERE user_id = \(user)")
            try await transaction.execute(
                "DELETE FROM auth.jobs WHERE id = (SELECT job FROM auth.exports WHERE user_id = \(user))")
            try await transaction.execute(
                """
                INSERT INTO auth.receipts (id, app_id, environment, token, erased)
                VALUES (\(receipt.id), \(space.appID), \(space.environment.rawValue), \(Self.digest(receipt.token)),
                    jsonb_build_object('auth', jsonb_build_object('sessions', \(Int64(sessions)))))
                """)
            try await jobs.enqueue(
                EraseUser.self, EraseUser.Parameters(subject: UserDataSubject(user, in: space), receipt: receipt.id),
                JobOptions(scope: space.jobScope, lane: Self.lane(space.jobScope), uniqueKey: receipt.id.uuidString),
                in: transaction)
            return receipt
        }
    }

    /// The receipt as JSON for the holder of the token; nil if there is no such receipt or the token is wrong.
    func read(_ receipt: UUID, token: Secret, in space: AppSpace) async throws -> String? {
        try await postgres.query(
            """
            SELECT jsonb_build_object(
                'id', r.id, 'state', CASE WHEN r.finished IS NULL THEN 'erasing' ELSE 'complete' END, 'erased', r.erased,
                'progress', CASE WHEN j.id IS NOT NULL THEN jsonb_build_object('done', j.done, 'total', j.total, 'at', j.message) END,
                'created', \(PostgresQuery.rfc3339("r.created")), 'finished', \(PostgresQuery.rfc3339("r.finished")))::text
            FROM auth.receipts AS r LEFT JOIN auth.jobs AS j
                ON j.kind = \(EraseUser.kind) AND j.unique_key = \(receipt.uuidString) AND j.finished IS NULL
            WHERE r.id = \(receipt) AND r.token = \(Self.digest(token)) AND r.app_id = \(space.appID)
                AND r.environment = \(space.environment.rawValue)
            """
        ).first?.decode(0)
    }

    /// The position from which each step continues; nil if the step is complete. Steps that have not started are
    /// missing.
    func positions(of receipt: UUID) async throws -> [String: String?] {
        let json: String? = try await postgres.query("SELECT places::text FROM auth.receipts WHERE id = \(receipt)")
            .first?.decode(0)
        return try json.map { try JSONDecoder().decode([String: String?].self, from: Data($0.utf8)) } ?? [:]
    }

    /// Records what a step has erased and its next position.
    func record(_ slice: UserErasure, by step: String, on receipt: UUID) async throws {
        try await postgres.execute(
            """
            UPDATE auth.receipts AS r SET erased = \(try Self.sum(slice.erased, of: step)),
                places = places || jsonb_build_object(\(step)::text, \(slice.next)::text)
            WHERE id = \(receipt) AND finished IS NULL
            """)
    }

    /// Adds to the counts of erased objects.
    func add(_ counts: [String: Int], of step: String, to receipt: UUID) async throws {
        try await postgres.execute(
            "UPDATE auth.receipts AS r SET erased = \(try Self.sum(counts, of: step)) WHERE id = \(receipt)")
    }

    /// Deletes the account, completes the receipt, finishes the job and enqueues the second run, in one transaction.
    func finish(_ parameters: EraseUser.Parameters, _ job: RunningJob) async throws {
        let subject = parameters.subject
        try await postgres.withTransaction { transaction in
            let count = try await transaction.execute("DELETE FROM auth.users WHERE id = \(subject.user) AND deleting")
            try await transaction.execute(
                """
                UPDATE auth.receipts AS r SET finished = now(), places = '{}', erased = \(try Self.sum(["accounts": count], of: AuthService.name))
                WHERE id = \(parameters.receipt) AND finished IS NULL
                """)
            try await jobs.enqueue(
                EraseUserAgain.self, parameters,
                JobOptions(
                    scope: job.scope, lane: Self.lane(job.scope), uniqueKey: parameters.receipt.uuidString,
                    delay: EraseUserAgain.delay),
                in: transaction)
            try await job.finish(JobNoResult(), in: transaction)
        }
    }

    /// Deletes expired receipts.
    func clean() async throws {
        try await postgres.execute(
            "DELETE FROM auth.receipts WHERE finished < now() - make_interval(days => \(Self.receiptDays))")
    }

    /// The `erased` of the row `r` with further counts of a step added.
    private static func sum(_ counts: [String: Int], of step: String) throws -> PostgresQuery {
        guard !counts.isEmpty else { return "r.erased" }
        let counts = PostgresJSON(Array(try JSONEncoder().encode(counts)))
        return """
            jsonb_set(r.erased, ARRAY[\(step)::text], coalesce(r.erased->\(step)::text, '{}') || (
                SELECT coalesce(jsonb_object_agg(key, coalesce((r.erased->\(step)::text->>key)::bigint, 0) + value::bigint), '{}')
                FROM jsonb_each_text(\(counts))))
            """
    }

    /// An app's deletions run one at a time, so that deletions waiting for a service leave room for other jobs.
    private static func lane(_ scope: String) -> String { "erase " + scope }

    private static func digest(_ token: Secret) -> Data {
        token.withValue { Data(SHA256.hash(data: Data($0.utf8))) }
    }
}

extension AppSpace {
    /// The scope of the app's jobs. Also part of stored digests, so it must not change.
    var jobScope: String { appID + ":" + environment.rawValue }
}
