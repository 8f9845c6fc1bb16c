import Foundation
import MartletAPI
import MartletCore
import MartletMail
import MartletPostgres

/// The properties of a new staff member.
struct NewStaff: Sendable {
    var userName: StaffName
    var passwordHash: String
    var mustReset: Bool
    var isAdministrator: Bool
    var rights: StaffRights
    var email: EmailAddress?
    var firstName: String?
    var lastName: String?
}

/// A change to a staff member; nil leaves a property unchanged.
struct StaffChange: Sendable {
    var userName: StaffName?
    var passwordHash: String?
    var mustReset: Bool?
    var isAdministrator: Bool?
    var rights: StaffRights?
    var isDisabled: Bool?
    /// `.some(nil)` removes the address.
    var email: EmailAddress??
    var firstName: String??
    var lastName: String??

    var endsSessions: Bool { passwordHash != nil || mustReset == true || isDisabled == true }
}

/// The staff member who makes a change, and their address.
struct StaffActor: Sendable {
    var id: UUID
    var address: String
}

/// Changes of staff by staff. Each locks both rows and checks their current rights, so that no revoked right is used
/// and no concurrent change is overwritten.
extension StaffStore {
    /// - Throws: `conflict` if the name is taken; `forbidden` by `StaffRules`.
    func create(_ new: NewStaff, by actor: StaffActor) async throws -> String {
        try await Self.mappingConflicts {
            try await postgres.withTransaction { transaction in
                let grant = try await lock(actor, transaction)
                try StaffRules.check(grant, .create)
                try StaffRules.check(grant, canGrant: new.rights, isAdministrator: new.isAdministrator)
                let rows = try await transaction.query(
                    """
                    INSERT INTO auth.staff AS u (user_name, password, must_reset, is_administrator, rights, email, first_name, last_name)
                    VALUES (\(new.userName.text), \(new.passwordHash), \(new.mustReset), \(new.isAdministrator), \(try PostgresJSON(new.rights)),
                        \(new.email?.text), \(new.firstName), \(new.lastName))
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

    /// - Throws: `staff-not-found`; `conflict` if the name is taken or no administrator would remain; `forbidden` by
    ///   `StaffRules`.
    func change(_ id: UUID, _ change: StaffChange, by actor: StaffActor) async throws -> String {
        try await Self.mappingConflicts {
            try await postgres.withTransaction { transaction in
                let (grant, target, before) = try await lock(id, actor, transaction)
                try StaffRules.check(grant, .update, target)
                try StaffRules.check(
                    grant, canGrant: change.rights ?? .none, isAdministrator: change.isAdministrator ?? false)
                let rows = try await transaction.query(
                    """
                    UPDATE auth.staff AS u SET
                        user_name = coalesce(\(change.userName?.text), u.user_name), password = coalesce(\(change.passwordHash), u.password),
                        has_password = u.has_password OR \(change.passwordHash != nil),
                        must_reset = coalesce(\(change.mustReset), u.must_reset),
                        is_administrator = coalesce(\(change.isAdministrator), u.is_administrator),
                        rights = coalesce(\(try change.rights.map { try PostgresJSON($0) }), u.rights),
                        disabled = coalesce(\(change.isDisabled), u.disabled),
                        first_name = CASE WHEN \(change.firstName != nil) THEN \(change.firstName ?? nil) ELSE u.first_name END,
                        last_name = CASE WHEN \(change.lastName != nil) THEN \(change.lastName ?? nil) ELSE u.last_name END,
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

    /// - Throws: `staff-not-found`; `conflict` if no administrator would remain; `forbidden` by `StaffRules`.
    func delete(_ id: UUID, by actor: StaffActor) async throws {
        try await Self.mappingConflicts {
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

    /// Removes a second factor whose authenticator app and recovery codes are lost. Ends all sessions.
    ///
    /// - Throws: `staff-not-found`; `forbidden` by `StaffRules`.
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

    /// - Throws: `staff-not-found`; `forbidden` by `StaffRules`.
    func endSessions(of id: UUID, by actor: StaffActor) async throws {
        try await postgres.withTransaction { transaction in
            let (grant, target, _) = try await lock(id, actor, transaction)
            try StaffRules.check(grant, .update, target)
            try await Self.endSessions(of: id, transaction)
            try await audit.record(
                AuditEntry(by: grant, "end-sessions", .staff, target: target.id, from: actor.address), transaction)
        }
    }

    /// The ids in `apps` that do not exist.
    func unknownApps(among apps: [String]) async throws -> [String] {
        try await postgres.query(
            "SELECT id FROM unnest(\(apps)) AS id WHERE NOT EXISTS (SELECT FROM auth.apps AS a WHERE a.id = id.id) ORDER BY id"
        ).map { try $0.decode(0) }
    }

    func lock(_ actor: StaffActor, _ transaction: PostgresTransaction) async throws -> StaffGrant {
        let row = try await transaction.query(
            "SELECT \(Self.grantColumns) FROM auth.staff AS u WHERE u.id = \(actor.id) AND NOT u.disabled FOR SHARE"
        ).first
        guard let row else { throw ServiceError(.forbidden) }
        return try Self.grant(row)
    }

    /// Locks both rows in the order of their ids, so that two members who change each other cannot deadlock.
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
        guard let grant else { throw ServiceError(.forbidden) }
        guard let target else { throw ServiceError(.staffNotFound) }
        return (grant, try Self.grant(target), try JSONValue(parsing: target.decode(6, as: String.self).utf8))
    }

    private static func mappingConflicts<Result>(_ body: () async throws -> Result) async throws -> Result {
        do {
            return try await body()
        } catch let error as PostgresError where error.constraint == "staff_user_name_key" {
            throw ServiceError(.conflict, "Another staff member already has this name.", field: "userName")
        } catch let error as PostgresError where error.isLastAdministrator {
            throw ServiceError(.conflict, "The last administrator must not be removed.")
        }
    }
}

/// The limits on changing staff: no one can give or gain a right that the acting member does not hold.
enum StaffRules {
    static func check(_ actor: StaffGrant, _ action: StaffAction) throws {
        guard actor.may(action, .staff, in: nil) else { throw ServiceError(.forbidden) }
    }

    /// Whoever may set a member's password can sign in as that member, so members with more rights cannot be changed.
    static func check(_ actor: StaffGrant, _ action: StaffAction, _ target: StaffGrant) throws {
        try check(actor, action)
        guard actor.isAdministrator || (!target.isAdministrator && target.rights.isCovered(by: actor.rights)) else {
            throw ServiceError(.forbidden, "This staff member has rights that you do not have.")
        }
    }

    static func check(_ actor: StaffGrant, canGrant rights: StaffRights, isAdministrator: Bool) throws {
        guard actor.isAdministrator || (!isAdministrator && rights.isCovered(by: actor.rights)) else {
            throw ServiceError(
                .forbidden, "You cannot give rights that you do not have.",
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

    /// The object with another member added.
    fileprivate func adding(_ name: String, _ value: JSONValue) -> JSONValue {
        guard case .object(let members) = self else { return self }
        return .object(members + [Member(name, value)])
    }
}
