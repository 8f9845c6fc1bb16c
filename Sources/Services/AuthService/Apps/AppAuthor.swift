import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

/// The staff member who changes an app: what they may do counts, and what they did is written down with it.
struct AppAuthor: Sendable {
    let staff: StaffGrant
    /// Where they ask from, as the gateway says.
    let address: String

    /// Writes into the audit log, in the transaction of what was done.
    ///
    /// - Parameters:
    ///   - before: how it was, as JSON text; nil: it was not.
    ///   - after: how it is now.
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

    /// A master key opens what its scopes say, so only who may do all of that gets to see the text of one, or widens
    /// one.
    ///
    /// - Throws: `forbidden`.
    func checkMayOpen(_ kind: CredentialKind, scopes: [String]?, of appID: String) throws {
        guard let area = missingArea(for: kind, scopes, appID) else { return }
        throw HTTPProblem(
            .forbidden,
            "A master key needs every right in the area \(area.rawValue) that it would give: limit its scopes.")
    }

    func mayOpen(_ kind: CredentialKind, scopes: [String]?, of appID: String) -> Bool {
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
    /// Whose rights are those that a key for this area gives.
    fileprivate var staffAreas: [StaffArea] {
        switch self {
        case .storage, .files, .functions: [.storage]
        case .auth: [.users]
        case .config: [.config, .experiments, .languages]
        case .analytics: [.analytics, .crashes, .tickets]
        case .notifications: [.notifications]
        }
    }
}

extension ServiceContext {
    /// The id of the app in the path. What is no id is no app's.
    ///
    /// - Throws: `app-not-found`.
    private var appInPath: String {
        get throws {
            guard let id = parameters.get("app"), (1...32).contains(id.utf8.count) else {
                throw HTTPProblem(.appNotFound)
            }
            return id
        }
    }

    /// The app in the path, when the staff member who asks may read about it.
    ///
    /// - Throws: `forbidden` and as `staff(may:_:in:)` does, whether the app exists or not.
    func readableApp() throws -> String {
        let id = try appInPath
        try staff(may: .read, .applications, in: id)
        return id
    }

    /// The app in the path, and the staff member who asks, when they may do `action` with it.
    ///
    /// - Throws: as `readableApp`.
    func changeableApp(_ request: Request, _ action: StaffAction = .update) throws -> (id: String, author: AppAuthor) {
        let id = try appInPath
        return (id, AppAuthor(staff: try staff(may: action, .applications, in: id), address: request.staffAddress))
    }
}
