public import Foundation
public import MartletAPI
public import MartletCore
public import MartletPostgres

/// A staff member's action, for the audit log.
public struct AuditEntry: Sendable {
    /// Nil for the operator's commands.
    public var staffID: UUID?
    public var staffName: String
    /// A verb such as `create` or `sign-in`.
    public var action: String
    public var area: StaffArea
    public var appID: String?
    /// The id or name of the object.
    public var target: String?
    /// The object's state before and after the action. Members whose names suggest secrets are removed
    /// (`withoutSecrets`), but do not rely on that.
    public var before: JSONValue?
    public var after: JSONValue?
    /// The client's address as reported by the gateway.
    public var address: String

    public init(
        by staff: StaffGrant, _ action: String, _ area: StaffArea, of appID: String? = nil, target: String? = nil,
        before: JSONValue? = nil, after: JSONValue? = nil, from address: String
    ) {
        self.init(
            staffID: UUID(uuidString: staff.id), staffName: staff.userName, action, area, of: appID, target: target,
            before: before, after: after,
            from: address)
    }

    /// An action by an operator's command.
    public init(
        byOperator action: String, _ area: StaffArea, of appID: String? = nil, target: String? = nil,
        before: JSONValue? = nil,
        after: JSONValue? = nil
    ) {
        self.init(
            staffID: nil, staffName: "operator", action, area, of: appID, target: target, before: before, after: after,
            from: "")
    }

    private init(
        staffID: UUID?, staffName: String, _ action: String, _ area: StaffArea, of appID: String?, target: String?,
        before: JSONValue?,
        after: JSONValue?, from address: String
    ) {
        self.staffID = staffID
        self.staffName = staffName
        self.action = action
        self.area = area
        self.appID = appID
        self.target = target
        self.before = before
        self.after = after
        self.address = address
    }
}

/// The audit log of staff actions. Entries are never changed.
public struct AuditStore: Sendable {
    let postgres: PostgresClient

    public init(postgres: PostgresClient) {
        self.postgres = postgres
    }

    public func record(_ entry: AuditEntry) async throws {
        try await postgres.execute(Self.insertion(of: entry))
    }

    /// Adds an entry in the transaction of the action, so that either both or neither are stored.
    public func record(_ entry: AuditEntry, _ transaction: PostgresTransaction) async throws {
        try await transaction.execute(Self.insertion(of: entry))
    }

    /// Deletes entries that are older than `days` days, which must be at least 30.
    func prune(olderThan days: Int) async throws {
        try await postgres.execute("SELECT auth.prune_audit_log(\(Int32(days)))", timeout: .seconds(120))
    }

    /// An insertion for use in a larger statement: `WITH …, audit AS (\(AuditStore.insertion(of: entry))) SELECT …`.
    public static func insertion(of entry: AuditEntry) -> PostgresQuery {
        """
        INSERT INTO auth.audit_log (staff_id, staff_name, action, area, app_id, target, before, after, address)
        VALUES (\(entry.staffID), \(entry.staffName), \(entry.action), \(entry.area.rawValue), \(entry.appID), \(entry.target),
            \(json(entry.before)), \(json(entry.after)), \(entry.address))
        """
    }

    /// The maximum number of failed sign-ins recorded per hour, for one member and for all unknown names together. It
    /// keeps strangers from flooding the log.
    static let failedSignInsPerHour = (ofMember: 10, ofUnknownNames: 30)

    /// Records a failed sign-in. Stores the given name only if a member has this name, because people sometimes type
    /// their password into the name field.
    ///
    /// - Parameters:
    ///   - staff: The member with the given name; nil if the name is unknown.
    ///   - provider: The identity provider; nil for a password.
    func recordFailedSignIn(of staff: StaffGrant?, by provider: String?, from address: String) async throws {
        let (id, name) = (staff.flatMap { UUID(uuidString: $0.id) }, staff?.userName ?? "unknown")
        let limits = Self.failedSignInsPerHour
        let limit = Int64(staff == nil ? limits.ofUnknownNames : limits.ofMember)
        try await postgres.execute(
            """
            INSERT INTO auth.audit_log (staff_id, staff_name, action, area, target, address)
            SELECT \(id), \(name), 'sign-in-failed', \(StaffArea.staff.rawValue), \(provider), \(address)
            WHERE (
                SELECT count(*) FROM auth.audit_log
                WHERE action = 'sign-in-failed' AND staff_id IS NOT DISTINCT FROM \(id) AND at > now() - interval '1 hour'
            ) < \(limit)
            """)
    }

    /// Larger values are replaced by their size in bytes, because people read the log.
    private static let maximumValueSizeInBytes = 32 << 10

    private static func json(_ value: JSONValue?) -> PostgresJSON? {
        guard let text = value?.withoutSecrets.text else { return nil }
        return PostgresJSON(text.utf8.count <= maximumValueSizeInBytes ? text : #"{"tooLarge":\#(text.utf8.count)}"#)
    }
}

extension JSONValue {
    /// Encodes any value, with dates as RFC 3339.
    public init(encoding value: some Encodable) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        encoder.dateEncodingStrategy = .iso8601
        self = try JSONValue(parsing: try encoder.encode(value))
    }

    /// The value without members whose names suggest secrets, at any depth. True, false and null are kept, because they
    /// reveal only whether there is a secret.
    var withoutSecrets: JSONValue {
        switch self {
        case .object(let members):
            .object(members.filter { !$0.mayBeSecret }.map { Member($0.name, $0.value.withoutSecrets) })
        case .array(let elements): .array(elements.map(\.withoutSecrets))
        default: self
        }
    }
}

extension JSONValue.Member {
    fileprivate var mayBeSecret: Bool {
        switch value {
        case .bool, .null: return false
        default:
            let name = name.lowercased()
            return ["password", "secret", "token", "privatekey", "recoverycode"].contains { name.contains($0) }
        }
    }
}
