import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

/// The staff member who changes an app. Their rights apply, and they are named in the audit log.
struct AppAuthor: Sendable {
    let staff: StaffGrant
    /// The client's address as reported by the gateway.
    let address: String

    /// Writes an entry to the audit log, in the transaction of the change.
    ///
    /// - Parameters:
    ///   - before: The former state as JSON text; nil if there was none.
    ///   - after: The new state; nil if there is none.
    func record(
        _ action: String, of appID: String, target: String? = nil, before: String? = nil, after: String? = nil,
        _ transaction: PostgresTransaction
    ) async throws {
        func value(_ text: String?) throws -> JSONValue? { try text.map { try JSONValue(parsing: $0.utf8) } }
        let entry = AuditEntry(
            by: staff, action, .applications, of: appID, target: target, before: try value(before),
            after: try value(after), from: address)
        try await transaction.execute(AuditStore.insertion(of: entry))
    }

    /// Checks that the staff member holds every right that a master key with these scopes gives. Required to see such a
    /// key's text or to widen its scopes.
    ///
    /// - Throws: `forbidden`.
    func checkHasRights(ofKey kind: CredentialKind, scopes: [String]?, of appID: String) throws {
        guard let area = missingArea(for: kind, scopes, appID) else { return }
        throw ServiceError(
            .forbidden,
            "This master key would give rights in the area \(area.rawValue) that you do not have; limit its scopes.")
    }

    func hasRights(ofKey kind: CredentialKind, scopes: [String]?, of appID: String) -> Bool {
        missingArea(for: kind, scopes, appID) == nil
    }

    private func missingArea(for kind: CredentialKind, _ scopes: [String]?, _ appID: String) -> StaffArea? {
        guard kind == .master else { return nil }
        let scopes = scopes.map { $0.compactMap(KeyScope.init) } ?? KeyArea.allCases.map { KeyScope($0) }
        for scope in scopes {
            let actions: [StaffAction] = scope.isReadOnly ? [.read] : StaffAction.allCases
            if let area = scope.area.staffAreas.first(where: { area in
                !actions.allSatisfy { staff.may($0, area, in: appID) }
            }) {
                return area
            }
        }
        return nil
    }
}

extension KeyArea {
    /// The staff areas whose rights a key for this area gives.
    fileprivate var staffAreas: [StaffArea] {
        switch self {
        // A key for storage can also change the roles of users.
        case .storage: [.storage, .users]
        case .files, .functions: [.storage]
        case .auth: [.users]
        case .config: [.config, .experiments, .languages]
        case .analytics: [.analytics, .crashes, .tickets]
        case .notifications: [.notifications]
        }
    }
}

extension ServiceContext {
    /// The id of the app in the path. A malformed id is `app-not-found`.
    ///
    /// - Throws: `app-not-found`.
    private var appInPath: String {
        get throws {
            guard let id = parameters.get("app"), (1...32).contains(id.utf8.count) else {
                throw ServiceError(.appNotFound)
            }
            return id
        }
    }

    /// The app in the path, if the calling staff member may read it.
    ///
    /// - Throws: `forbidden` and the errors of `staff(may:_:in:)`, whether the app exists or not.
    func readableApp() throws -> String {
        let id = try appInPath
        try staff(may: .read, .applications, in: id)
        return id
    }

    /// The app in the path and the calling staff member, if they may do `action` with it.
    ///
    /// - Throws: The errors of `readableApp`.
    func changeableApp(_ request: Request, _ action: StaffAction = .update) throws -> (id: String, author: AppAuthor) {
        let id = try appInPath
        return (id, AppAuthor(staff: try staff(may: action, .applications, in: id), address: request.staffAddress))
    }
}
