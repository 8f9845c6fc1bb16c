import Foundation
import MartletAPI

/// The staff member on whose behalf the current task changes an app's data.
///
/// Clients of PostgreSQL name it in `martlet.staff` for each statement. Triggers then write every changed row into the
/// audit log, in the same statement (migration `020_audit.sql` of `auth`).
public struct StaffActor: Sendable {
    /// The actor of the request that the current task belongs to; nil for other callers, for reads, and in jobs.
    @TaskLocal public static var current: StaffActor?

    /// Base64 of the JSON, which needs no quoting in SQL.
    public let text: String

    /// - Parameter address: The client's address in readable form.
    /// - Returns: Nil for other callers than staff, and for calls about no app, whose endpoints record them.
    public init?(_ principal: Principal, from address: String) {
        guard let staff = principal.staff, !principal.appID.isEmpty,
            let json = try? JSONEncoder().encode(
                Content(
                    id: staff.id, name: staff.userName, address: address, app: principal.appID,
                    environment: principal.environment))
        else { return nil }
        text = json.base64EncodedString()
    }

    private struct Content: Encodable {
        var id: String
        var name: String
        var address: String
        var app: String
        var environment: AppEnvironment
    }
}
