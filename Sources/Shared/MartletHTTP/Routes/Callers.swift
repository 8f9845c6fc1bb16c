import Hummingbird
public import MartletAPI
public import MartletCore

/// Who may make a call. The gateway has checked the credential; a service checks that it is one of the right kind.
public enum Callers: Sendable, Hashable {
    /// Anyone who reaches the route: a visitor, the holder of a signed link, or any other caller.
    case anyone
    /// The app on a device, with its secret, and the app's server.
    case client
    /// A signed-in user of the app, and the app's server on behalf of a user.
    case user
    /// The app's server, with the master key.
    case server
    /// The app's server, and staff with one of the actions in one of the areas.
    ///
    /// The endpoint checks more where the area or the action depends on the body or on what is stored.
    case managers([StaffAction], [StaffArea])
    /// Staff with the action in the area of the whole server.
    case staff(StaffAction, StaffArea)
    /// Staff with the action in the area of the app whose id is `app` in the path.
    case staffOfApp(StaffAction, StaffArea)
    /// Staff who are signed in, whatever their rights.
    case signedInStaff
    /// Staff who are signed in, even if they must choose another password first.
    case staffBeforePasswordReset
    /// Staff who are about to sign in.
    case staffSigningIn
    /// Principals of these kinds.
    case kinds(Set<Principal.Kind>)

    /// Holders of an evaluation key, and the app's server.
    public static let evaluators = Callers.kinds([.evaluation, .master])

    /// Holders of an ingest key.
    public static let ingestKeys = Callers.kinds([.ingest])

    /// Other processes of the suite.
    public static let processes = Callers.kinds([.service])

    public static func manager(_ action: StaffAction, _ area: StaffArea) -> Callers { .managers([action], [area]) }
}

extension ServiceContext {
    /// Checks that the caller is one of `callers`.
    ///
    /// - Throws: `unauthorized`, `forbidden`, `invalid-token`, `password-reset-required`.
    func admit(_ callers: Callers) throws {
        switch callers {
        case .anyone: break
        case .client: try admitClient()
        case .user:
            try admitClient()
            guard try principal.userID != nil else {
                throw HTTPProblem(.invalidToken, "Send an access token: Authorization: Bearer ….")
            }
        case .server: _ = try master
        case .managers(let actions, let areas): try admitManager(actions, areas)
        case .staff(let action, let area): try staff(may: action, area)
        case .staffOfApp(let action, let area): try staff(may: action, area, in: parameters.get("app") ?? "")
        case .signedInStaff: _ = try signedInStaff
        case .staffBeforePasswordReset: _ = try staffBeforeReset
        case .staffSigningIn: guard try principal.kind == .staff else { throw HTTPProblem(.forbidden) }
        case .kinds(let kinds): guard kinds.contains(try principal.kind) else { throw HTTPProblem(.forbidden) }
        }
    }

    private func admitClient() throws {
        let kind = try principal.kind
        guard kind == .client || kind == .master else { throw HTTPProblem(.forbidden) }
    }

    private func admitManager(_ actions: [StaffAction], _ areas: [StaffArea]) throws {
        let principal = try principal
        guard principal.kind == .staff else {
            _ = try master
            return
        }
        let staff = try signedInStaff
        let isAllowed = areas.contains { area in actions.contains { staff.may($0, area, in: principal.appID) } }
        guard isAllowed else {
            let action = actions.map(\.rawValue).joined(separator: " or ")
            let area = areas.map(\.rawValue).joined(separator: " or ")
            throw HTTPProblem(.forbidden, "This call needs the right to \(action) in the area \(area).")
        }
    }
}
