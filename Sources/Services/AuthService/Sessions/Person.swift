import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

/// A user of an app, or a member of the server's staff.
enum Person: Sendable {
    case user(UUID, AppSpace)
    /// `address` is the client's address for the audit log (`Request.staffAddress`).
    case staff(UUID, StaffGrant, address: String)

    var id: UUID {
        switch self {
        case .user(let id, _), .staff(let id, _, _): id
        }
    }

    var isStaff: Bool { if case .staff = self { true } else { false } }

    /// Records what staff do with their own account in the audit log. The actions of users are not recorded.
    ///
    /// - Parameter target: The object of the action; nil for the account.
    func record(_ action: String, target: UUID? = nil, _ transaction: PostgresTransaction) async throws {
        guard case .staff(_, let staff, let address) = self else { return }
        let entry = AuditEntry(
            by: staff, action, .staff, target: target?.uuidString.lowercased() ?? staff.id, from: address)
        try await transaction.execute(AuditStore.insertion(of: entry))
    }
}

extension ServiceContext {
    /// The signed-in user or staff member, or the user named by the app's server.
    ///
    /// The route declares which of them may call, and whether staff must have reset their password.
    ///
    /// - Throws: `invalid-token` if there is none.
    func person(_ request: Request) throws -> Person {
        guard try principal.kind == .staff else { return .user(try signedInUser, try userSpace) }
        let staff = try staffBeforeReset
        return .staff(try staff.uuid, staff, address: request.staffAddress)
    }
}
