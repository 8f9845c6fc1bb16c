import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import MartletMail
import MartletPostgres

/// What a new staff member comes with.
struct NewStaff: Sendable {
    var userName: StaffName
    var passwordHash: String
    var mustReset: Bool
    var isAdministrator: Bool
    var rights: StaffRights
    var email: EmailAddress?
}

/// What of a staff member is to change; nil: nothing.
struct StaffChange: Sendable {
    var userName: StaffName?
    var passwordHash: String?
    var mustReset: Bool?
    var isAdministrator: Bool?
    var rights: StaffRights?
    var isDisabled: Bool?
    /// `.some(nil)`: none any more.
    var email: EmailAddress??

    var endsSessions: Bool { passwordHash != nil || mustReset == true || isDisabled == true }
}

/// Who changes a staff member, and from where.
struct StaffActor: Sendable {
    var id: UUID
    var address: String
}

/// What staff do to staff. Each looks at both as they are at that moment, with their rows locked, so that no right is
/// used that was taken away, and none is given over a change of somebody else's.
extension StaffStore {
    /// - Throws: `conflict` when the name is taken; `forbidden` as `StaffRules`.
    func create(_ new: NewStaff, by actor: StaffActor) async throws -> String {
        try await Self.tellingConflicts {
            try await postgres.withTransaction { transaction in
                let grant = try await lock(actor, transaction)
                try StaffRules.check(grant, .create)
                try StaffRules.check(grant, mayGive: new.rights, isAdministrator: new.isAdministrator)
                let rows = try await transaction.query(
                    """
                    INSERT INTO auth.staff AS u (user_name, password, must_reset, is_administrator, rights, email)
                    VALUES (\(new.userName.text), \(new.passwordHash), \(new.mustReset), \(new.isAdministrator), \(try PostgresJSON(new.rights)),
                        \(new.email?.text))
                    RETURNING \(Self.json)
                    """)
                let json: String = try rows[0].decode(0)
                let after = try JSONValue(parsing: json.utf8)
                try await audit.record(
                    AuditEntry(by: grant, "create", .staff, target: after.idText, after: after, from: actor.address),
                    transaction)
                return json
            }
        }
    }

    /// - Throws: `staff-not-found`; `conflict` when the name is taken or no administrator would be left; `forbidden` as
    ///   `StaffRules`.
    func change(_ id: UUID, _ change: StaffChange, by actor: StaffActor) async throws -> String {
        try await Self.tellingConflicts {
            try await postgres.withTransaction { transaction in
                let (grant, target, before) = try await lock(id, actor, transaction)
                try StaffRules.check(grant, .update, target)
                try StaffRules.check(
                    grant, mayGive: change.rights ?? .none, isAdministrator: change.isAdministrator ?? false)
                let rows = try await transaction.query(
                    """
                    UPDATE auth.staff AS u SET
                        user_name = coalesce(\(change.userName?.text), u.user_name), password = coalesce(\(change.passwordHash), u.password),
                        must_reset = coalesce(\(change.mustReset), u.must_reset),
                        is_administrator = coalesce(\(change.isAdministrator), u.is_administrator),
                        rights = coalesce(\(try change.rights.map { try PostgresJSON($0) }), u.rights),
                        disabled = coalesce(\(change.isDisabled), u.disabled),
                        email = CASE WHEN \(change.email != nil) THEN \(change.email??.text) ELSE u.email END, updated = now()
                    WHERE u.id = \(id) RETURNING \(Self.json)
                    """)
                let json: String = try rows[0].decode(0)
                if change.endsSessions { try await Self.endSessions(of: id, transaction) }
                let after = try JSONValue(parsing: json.utf8).adding("passwordSet", .bool(change.passwordHash != nil))
                try await audit.record(
                    AuditEntry(
                        by: grant, "update", .staff, target: target.id, before: before, after: after,
                        from: actor.address), transaction)
                return json
            }
        }
    }

    /// - Throws: `staff-not-found`; `conflict` when no administrator would be left; `forbidden` as `StaffRules`.
    func delete(_ id: UUID, by actor: StaffActor) async throws {
        try await Self.tellingConflicts {
            try await postgres.withTransaction { transaction in
                let (grant, target, before) = try await lock(id, actor, transaction)
                try StaffRules.check(grant, .delete, target)
                try await transaction.execute("DELETE FROM auth.staff WHERE id = \(id)")
                try await audit.record(
                    AuditEntry(by: grant, "delete", .staff, target: target.id, before: before, from: actor.address),
                    transaction)
            }
        }
    }

    /// Takes a second factor away, when app and codes are lost; all sessions end.
    ///
    /// - Throws: `staff-not-found`; `forbidden` as `StaffRules`.
    func removeSecondFactor(of id: UUID, by actor: StaffActor) async throws {
        try await postgres.withTransaction { transaction in
            let (grant, target, _) = try await lock(id, actor, transaction)
            try StaffRules.check(grant, .update, target)
            try await transaction.execute("DELETE FROM auth.staff_second_factors WHERE staff_id = \(id)")
            try await Self.endSessions(of: id, transaction)
            try await audit.record(
                AuditEntry(by: grant, "remove-second-factor", .staff, target: target.id, from: actor.address),
                transaction)
        }
    }

    /// - Throws: `staff-not-found`; `forbidden` as `StaffRules`.
    func endSessions(of id: UUID, by actor: StaffActor) async throws {
        try await postgres.withTransaction { transaction in
            let (grant, target, _) = try await lock(id, actor, transaction)
            try StaffRules.check(grant, .update, target)
            try await Self.endSessions(of: id, transaction)
            try await audit.record(
                AuditEntry(by: grant, "end-sessions", .staff, target: target.id, from: actor.address), transaction)
        }
    }

    /// Those of `apps` that do not exist.
    func unknownApps(among apps: [String]) async throws -> [String] {
        try await postgres.query(
            "SELECT id FROM unnest(\(apps)) AS id WHERE NOT EXISTS (SELECT FROM auth.apps AS a WHERE a.id = id.id) ORDER BY id"
        ).map { try $0.decode(0) }
    }

    func lock(_ actor: StaffActor, _ transaction: PostgresTransaction) async throws -> StaffGrant {
        let row = try await transaction.query(
            "SELECT \(Self.grantColumns) FROM auth.staff AS u WHERE u.id = \(actor.id) AND NOT u.disabled FOR SHARE"
        ).first
        guard let row else { throw HTTPProblem(.forbidden) }
        return try Self.grant(row)
    }

    /// Both in the order of their ids: two who change each other do not wait for each other for ever.
    func lock(
        _ id: UUID, _ actor: StaffActor, _ transaction: PostgresTransaction
    ) async throws -> (actor: StaffGrant, target: StaffGrant, before: JSONValue) {
        let rows = try await transaction.query(
            """
            SELECT \(Self.grantColumns), u.disabled, \(Self.json) FROM auth.staff AS u
            WHERE u.id IN (\(actor.id), \(id)) ORDER BY u.id FOR UPDATE OF u
            """)
        var (grant, target): (StaffGrant?, PostgresRow?)
        for row in rows {
            let found: UUID = try row.decode(0)
            if found == actor.id, try !row.decode(5, as: Bool.self) { grant = try Self.grant(row) }
            if found == id { target = row }
        }
        guard let grant else { throw HTTPProblem(.forbidden) }
        guard let target else { throw HTTPProblem(.staffNotFound) }
        return (grant, try Self.grant(target), try JSONValue(parsing: target.decode(6, as: String.self).utf8))
    }

    private static func tellingConflicts<Result>(_ body: () async throws -> Result) async throws -> Result {
        do {
            return try await body()
        } catch let error as PostgresError where error.constraint == "staff_user_name_key" {
            throw HTTPProblem(.conflict, "Somebody else has this already.", field: "userName")
        } catch let error as PostgresError where error.isLastAdministrator {
            throw HTTPProblem(.conflict, "The last administrator has to stay.")
        }
    }
}

/// How far staff may change staff: nobody gets, by their own hand or another's, a right that the other does not have.
enum StaffRules {
    static func check(_ actor: StaffGrant, _ action: StaffAction) throws {
        guard actor.may(action, .staff, in: nil) else { throw HTTPProblem(.forbidden) }
    }

    /// Whoever may set somebody's password may sign in as them: nobody touches those who may do more than they.
    static func check(_ actor: StaffGrant, _ action: StaffAction, _ target: StaffGrant) throws {
        try check(actor, action)
        guard actor.isAdministrator || (!target.isAdministrator && target.rights.isCovered(by: actor.rights)) else {
            throw HTTPProblem(.forbidden, "This staff member has rights that you do not have.")
        }
    }

    static func check(_ actor: StaffGrant, mayGive rights: StaffRights, isAdministrator: Bool) throws {
        guard actor.isAdministrator || (!isAdministrator && rights.isCovered(by: actor.rights)) else {
            throw HTTPProblem(
                .forbidden, "Nobody gives rights that they do not have.",
                field: isAdministrator ? "isAdministrator" : "rights")
        }
    }
}

extension PostgresJSON {
    fileprivate init(_ rights: StaffRights) throws {
        self.init(Array(try JSONEncoder().encode(rights)))
    }
}

extension JSONValue {
    fileprivate var idText: String? {
        if case .string(let id)? = self["id"] { id } else { nil }
    }

    /// The object with a further member.
    fileprivate func adding(_ name: String, _ value: JSONValue) -> JSONValue {
        guard case .object(let members) = self else { return self }
        return .object(members + [Member(name, value)])
    }
}
