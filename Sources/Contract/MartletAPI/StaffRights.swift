/// What rights of staff are about.
public enum StaffArea: String, Codable, Sendable, Hashable, CaseIterable {
    // Of an app
    case applications, users, storage, analytics, notifications, backup, config, crashes, experiments, languages,
        tickets
    // Of the whole server
    case staff, audit, status

    /// There is one for the whole server, not one for each app.
    public var isOfServer: Bool { [.staff, .audit, .status].contains(self) }
}

public enum StaffAction: String, Codable, Sendable, Hashable, CaseIterable {
    case create, read, update, delete
}

/// What a staff member may do: app → area → actions.
///
/// As JSON `{"<app id, or *>":{"<area>":["create","read","update","delete"]}}`. `*` stands for every app, those to come
/// too, and for what belongs to none. An area or action that is not known is left out in reading: what is not
/// understood opens nothing.
public struct StaffRights: Codable, Sendable, Hashable {
    public typealias Areas = [StaffArea: Set<StaffAction>]

    public static let everyApp = "*"
    public static let none = StaffRights([:])

    /// Without empty ones.
    public let apps: [String: Areas]

    public init(_ apps: [String: Areas]) {
        self.apps = apps.mapValues { areas in areas.filter { !$0.value.isEmpty } }.filter { !$0.value.isEmpty }
    }

    /// - Parameter appID: nil: of the server, or of every app.
    public func allow(_ action: StaffAction, _ area: StaffArea, in appID: String?) -> Bool {
        [Self.everyApp, appID].contains { app in app.flatMap { apps[$0]?[area]?.contains(action) } ?? false }
    }

    /// Whether `others` allow all that these do.
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

/// A staff member, and what they may do.
public struct StaffGrant: Codable, Sendable, Hashable {
    /// A UUID in lower case.
    public var id: String
    public var userName: String
    /// May do everything.
    public var isAdministrator: Bool
    /// Has to choose another password before anything else.
    public var mustReset: Bool
    public var rights: StaffRights

    public init(
        id: String, userName: String, isAdministrator: Bool = false, mustReset: Bool = false,
        rights: StaffRights = .none
    ) {
        self.id = id
        self.userName = userName
        self.isAdministrator = isAdministrator
        self.mustReset = mustReset
        self.rights = rights
    }

    /// - Parameter appID: nil: of the server, or of every app.
    public func may(_ action: StaffAction, _ area: StaffArea, in appID: String?) -> Bool {
        isAdministrator || rights.allow(action, area, in: appID)
    }
}
