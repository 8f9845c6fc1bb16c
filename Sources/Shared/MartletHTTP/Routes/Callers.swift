import Foundation
import Hummingbird
public import MartletAPI
public import MartletCore

/// The callers that a route allows. The gateway has already verified the credential; the service checks that its kind
/// may make the call.
public enum Callers: Sendable, Hashable {
    /// Anyone who reaches the route: a visitor, the holder of a signed link, or any other caller.
    case anyone
    /// The app on a device, with its secret, or the app's server.
    case client
    /// The app on a device, with its secret, the app's server, or staff with the right to all of the actions in the
    /// area of the app, who then act with the server's rights (`Principal.hasServerRights`).
    case clientOrStaff([StaffAction], StaffArea)
    /// A signed-in user of the app, or the app's server on behalf of a user.
    case user
    /// The app's server, with the master key.
    case server
    /// The app's server, or staff with the right to one of the actions in one of the areas.
    ///
    /// If the area or the action depends on the body or on stored data, the endpoint makes the remaining check.
    case managers([StaffAction], [StaffArea])
    /// Staff with the right to the action in an area of the whole server.
    case staff(StaffAction, StaffArea)
    /// Staff with the right to the action in an area of the app whose id is `app` in the path.
    case staffOfApp(StaffAction, StaffArea)
    /// Any signed-in staff member.
    case signedInStaff
    /// Any signed-in staff member, even one who must reset the password first.
    case staffBeforePasswordReset
    /// Staff who are signing in. No access token is required.
    case staffSigningIn
    /// Any principal of one of these kinds.
    case kinds(Set<Principal.Kind>)

    /// The holder of an evaluation key, or the app's server.
    public static let evaluators = Callers.kinds([.evaluation, .master])

    /// The app on a device, its server, and staff, whose rights the endpoint checks.
    public static let appsAndStaff = Callers.kinds([.client, .master, .staff])

    /// The holder of an ingest key.
    public static let ingestKeys = Callers.kinds([.ingest])

    /// Our own processes.
    public static let processes = Callers.kinds([.service])

    public static func manager(_ action: StaffAction, _ area: StaffArea) -> Callers { .managers([action], [area]) }

    /// Whether every client, and every app's server, may make the call.
    var admitsEveryClient: Bool {
        switch self {
        case .anyone, .client, .clientOrStaff: true
        default: false
        }
    }
}

extension ServiceContext {
    /// Checks that the caller is one of `callers`.
    ///
    /// - Throws: `unauthorized`, `forbidden`, `invalid-token`, `password-reset-required`.
    func admit(_ callers: Callers) throws {
        switch callers {
        case .anyone: break
        case .client: try admitClient()
        case .clientOrStaff(let actions, let area):
            if try principal.kind == .staff {
                for action in actions { try admitManager([action], [area]) }
            } else {
                try admitClient()
            }
        case .user:
            try admitClient()
            guard try principal.userID != nil else {
                throw ServiceError(.invalidToken, "Send an access token: Authorization: Bearer ….")
            }
        case .server: _ = try master
        case .managers(let actions, let areas): try admitManager(actions, areas)
        case .staff(let action, let area): try staff(may: action, area)
        case .staffOfApp(let action, let area): try staff(may: action, area, in: parameters.get("app") ?? "")
        case .signedInStaff: _ = try signedInStaff
        case .staffBeforePasswordReset: _ = try staffBeforeReset
        case .staffSigningIn: guard try principal.kind == .staff else { throw ServiceError(.forbidden) }
        case .kinds(let kinds): guard kinds.contains(try principal.kind) else { throw ServiceError(.forbidden) }
        }
    }

    /// Checks that a calling staff member has proved who they are within the last ten minutes. Other callers pass.
    ///
    /// - Throws: `confirmation-required`.
    public func requireConfirmation() throws {
        guard let staff = try principal.staff else { return }
        let age = Date().timeIntervalSince1970 - Double(staff.confirmed ?? 0)
        guard age <= 600 else { throw ServiceError(.confirmationRequired) }
    }

    private func admitClient() throws {
        let kind = try principal.kind
        guard kind == .client || kind == .master else { throw ServiceError(.forbidden) }
    }

    private func admitManager(_ actions: [StaffAction], _ areas: [StaffArea]) throws {
        let principal = try principal
        guard principal.kind == .staff else {
            _ = try master
            return
        }
        let staff = try signedInStaff
        guard !principal.appID.isEmpty else { throw ServiceError(.forbidden, "This call needs an app in the path.") }
        let isAllowed = areas.contains { area in actions.contains { staff.may($0, area, in: principal.appID) } }
        guard isAllowed else {
            let action = actions.map(\.rawValue).joined(separator: " or ")
            let area = areas.map(\.rawValue).joined(separator: " or ")
            throw ServiceError(.forbidden, "This call needs the right to \(action) in the area \(area).")
        }
    }
}
