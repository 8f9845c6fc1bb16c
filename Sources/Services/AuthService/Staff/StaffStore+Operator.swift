public import Foundation
import MartletAPI
public import MartletCore
import MartletPostgres

/// A staff member as shown by operator commands.
public struct StaffRecord: Codable, Sendable, Equatable {
    public var id: UUID
    public var userName: String
    public var isAdministrator: Bool
    public var isDisabled: Bool
    public var mustReset: Bool
    public var hasSecondFactor: Bool
    public var created: Date
    public var lastSignIn: Date?
}

/// Thrown instead of disabling the last administrator, because no one could then manage staff.
public struct LastAdministratorError: Error {}

/// The operator's commands, which need no staff rights. The audit log names `operator` as the author.
extension StaffStore {
    /// Creates a staff member. Returns false if the name is taken.
    ///
    /// - Parameter userName: 1 to 100 of `a-z 0-9 . _ @ -`, starting with a letter or digit.
    public func create(userName: String, password: Secret, isAdministrator: Bool) async throws -> Bool {
        let hash = try PasswordHash.make(of: password)
        return try await postgres.withTransaction { transaction in
            let json: String? = try await transaction.query(
                """
                INSERT INTO auth.staff AS u (user_name, password, is_administrator)
                VALUES (\(userName), \(hash), \(isAdministrator)) ON CONFLICT (user_name) DO NOTHING RETURNING \(Self.json)
                """
            ).first?.decode(0)
            guard let json else { return false }
            try await audit.record(
                AuditEntry(byOperator: "create", .staff, target: userName, after: try JSONValue(parsing: json.utf8)),
                transaction)
            return true
        }
    }

    /// All staff members, ordered by name.
    public func list() async throws -> [StaffRecord] {
        try await postgres.query(
            """
            SELECT id, user_name, is_administrator, disabled, must_reset,
                EXISTS (SELECT FROM auth.staff_second_factors AS f WHERE f.staff_id = u.id AND f.confirmed IS NOT NULL), created, last_sign_in
            FROM auth.staff AS u ORDER BY user_name
            """
        ).map {
            StaffRecord(
                id: try $0.decode(0), userName: try $0.decode(1), isAdministrator: try $0.decode(2),
                isDisabled: try $0.decode(3),
                mustReset: try $0.decode(4), hasSecondFactor: try $0.decode(5), created: try $0.decode(6),
                lastSignIn: try $0.decode(7))
        }
    }

    /// Sets a password that must be changed at the next sign-in, and ends all sessions of the member. Returns false if
    /// there is no such member.
    ///
    /// - Parameter removesSecondFactor: True if the authenticator app and the recovery codes are lost too.
    public func resetPassword(of userName: String, to password: Secret, removesSecondFactor: Bool) async throws -> Bool
    {
        let hash = try PasswordHash.make(of: password)
        return try await change(
            userName, "reset-password", "password = \(hash), has_password = TRUE, must_reset = TRUE"
        ) { id, transaction in
            if removesSecondFactor {
                try await transaction.execute("DELETE FROM auth.staff_second_factors WHERE staff_id = \(id)")
            }
        }
    }

    /// Disables a staff member and ends all their sessions. Returns false if there is no such member.
    ///
    /// - Throws: `LastAdministratorError`.
    public func disable(_ userName: String) async throws -> Bool {
        do {
            return try await change(userName, "disable", "disabled = TRUE")
        } catch let error as PostgresError where error.isLastAdministrator {
            throw LastAdministratorError()
        }
    }

    private func change(
        _ userName: String, _ action: String, _ assignments: PostgresQuery,
        also: (UUID, PostgresTransaction) async throws -> Void = { _, _ in }
    ) async throws -> Bool {
        try await postgres.withTransaction { transaction in
            let id: UUID? = try await transaction.query(
                "UPDATE auth.staff SET \(assignments), updated = now() WHERE user_name = \(userName) RETURNING id"
            ).first?.decode(0)
            guard let id else { return false }
            try await also(id, transaction)
            try await Self.endSessions(of: id, transaction)
            try await audit.record(
                AuditEntry(byOperator: action, .staff, target: id.uuidString.lowercased()), transaction)
            return true
        }
    }
}

extension PostgresError {
    /// Raised by the trigger `last_administrator`.
    var isLastAdministrator: Bool { constraint == "staff_last_administrator" }
}
