import Foundation
import MartletAPI

/// The staff member on whose behalf the current task changes an app's data.
///
/// The PostgreSQL client sets `martlet.staff` to it for each statement. Triggers then write every changed row into the
/// audit log, in the same statement (migration `020_audit.sql` of `auth`).
public struct StaffActor: Sendable {
    /// The actor of the request that the current task belongs to; nil for other callers, for reads, and in jobs.
    @TaskLocal public static var current: StaffActor?

    /// Base64 of the JSON, which needs no quoting in SQL.
    public let text: String

    /// - Parameter address: The client's address in readable form.
    /// - Returns: Nil if the caller is not staff, or if the call concerns no app. Endpoints without an app write their
    ///   own audit entries.
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
