/// An area of the server or of an app to which staff rights apply.
public enum StaffArea: String, Codable, Sendable, Hashable, CaseIterable {
    // Of an app
    case applications, users, storage, analytics, notifications, backup, config, crashes, experiments, languages,
        tickets
    // Of the whole server
    case staff, audit, status

    /// Whether the area belongs to the whole server rather than to each app.
    public var isServerWide: Bool { [.staff, .audit, .status].contains(self) }
}

public enum StaffAction: String, Codable, Sendable, Hashable, CaseIterable {
    case create, read, update, delete
}

/// The rights of a staff member: app → area → actions.
///
/// As JSON `{"<app id, or *>":{"<area>":["create","read","update","delete"]}}`. `*` stands for every app, including
/// future ones, and for areas of the whole server. Unknown areas and actions are dropped when decoding, so they grant
/// nothing.
public struct StaffRights: Codable, Sendable, Hashable {
    public typealias Areas = [StaffArea: Set<StaffAction>]

    public static let everyApp = "*"
    public static let none = StaffRights([:])

    /// Without empty entries.
    public let apps: [String: Areas]

    public init(_ apps: [String: Areas]) {
        self.apps = apps.mapValues { areas in areas.filter { !$0.value.isEmpty } }.filter { !$0.value.isEmpty }
    }

    /// - Parameter appID: Nil for areas of the server, or for a right to every app.
    public func allow(_ action: StaffAction, _ area: StaffArea, in appID: String?) -> Bool {
        [Self.everyApp, appID].contains { app in app.flatMap { apps[$0]?[area]?.contains(action) } ?? false }
    }

    /// Whether `others` allow everything that these allow.
    public func isCovered(by others: StaffRights) -> Bool {
        apps.allSatisfy { app, areas in
            areas.allSatisfy { area, actions in
                actions.allSatisfy { others.allow($0, area, in: app == Self.everyApp ? nil : app) }
            }
        }
    }

    public init(from decoder: any Decoder) throws {
        let texts = try decoder.singleValueContainer().decode([String: [String: [String]]].self)
        self.init(
            texts.mapValues { areas in
                var known: Areas = [:]
                for (area, actions) in areas {
                    if let area = StaffArea(rawValue: area) { known[area] = Set(actions.compactMap(StaffAction.init)) }
                }
                return known
            })
    }

    public func encode(to encoder: any Encoder) throws {
        let texts = apps.mapValues { areas in
            Dictionary(
                uniqueKeysWithValues: areas.map {
                    ($0.rawValue, StaffAction.allCases.filter($1.contains).map(\.rawValue))
                })
        }
        var container = encoder.singleValueContainer()
        try container.encode(texts)
    }
}

/// A staff member and their rights.
public struct StaffGrant: Codable, Sendable, Hashable {
    /// A UUID in lower case.
    public var id: String
    public var userName: String
    /// Administrators may do everything.
    public var isAdministrator: Bool
    /// Whether they must choose a new password before anything else.
    public var mustReset: Bool
    public var rights: StaffRights
    /// When the session was last confirmed by a password and second factor, or by an identity provider, in seconds
    /// since 1970. Nil in the key ring: it is a fact about a token.
    public var confirmed: Int64?

    public init(
        id: String, userName: String, isAdministrator: Bool = false, mustReset: Bool = false,
        rights: StaffRights = .none, confirmed: Int64? = nil
    ) {
        self.id = id
        self.userName = userName
        self.isAdministrator = isAdministrator
        self.mustReset = mustReset
        self.rights = rights
        self.confirmed = confirmed
    }

    /// - Parameter appID: Nil for areas of the server, or for a right to every app.
    public func may(_ action: StaffAction, _ area: StaffArea, in appID: String?) -> Bool {
        isAdministrator || rights.allow(action, area, in: appID)
    }
}
