package import Foundation
import HTTPTypes
package import MartletAPI
package import MartletCore
package import MartletHTTP
import NIOCore

/// Looks up staff members in the auth service. Nothing is cached, so that a member who leaves or loses a right is gone
/// at once.
package struct StaffDirectory: Sendable {
    /// Maximum number of ids in one call.
    static let maximumStaff = 100
    /// Short, because a client is waiting for the answer.
    private static let timeout: Duration = .seconds(2)
    private static let maximumAnswerSizeInBytes = 64 << 10

    package struct Member: Sendable, Decodable {
        package var id: UUID
        package var userName: String
        /// The member's e-mail address, if any.
        package var email: String?
    }

    /// The members among `ids` that exist and are not disabled. With an area, only those who may read it in the app.
    ///
    /// - Throws: as `ServiceCalls.post`.
    package let members: @Sendable (_ ids: [UUID], _ app: String?, _ area: StaffArea?) async throws -> [Member]

    package init(
        members: @escaping @Sendable (_ ids: [UUID], _ app: String?, _ area: StaffArea?) async throws -> [Member]
    ) {
        self.members = members
    }

    /// Checks that work may be assigned to a staff member. A principal may always assign work to itself.
    ///
    /// - Parameter area: An area of the app that the assignee must be able to read; nil if it is enough that they
    ///   exist.
    /// - Throws: `invalid-body` if the assignee does not exist, is disabled or may not read the area; `unavailable` if
    ///   auth cannot be reached.
    package func check(_ assignee: UUID, of area: StaffArea? = nil, assignedBy principal: Principal) async throws {
        if let staff = principal.staff, UUID(uuidString: staff.id) == assignee { return }
        try await check([assignee], principal.appID, area, field: "assignee")
    }

    /// - Throws: as `check(_:of:assignedBy:)`.
    package func check(_ ids: [UUID], _ app: String?, _ area: StaffArea?, field: String) async throws {
        let existing: Set<UUID>
        do {
            existing = Set(try await members(ids, app, area).map(\.id))
        } catch let error where !(error is CancellationError) {
            throw ServiceError(
                .unavailable, "The auth service could not confirm that the staff member exists. Try again.",
                cause: "\(error)", retryAfter: 5)
        }
        guard existing.isSuperset(of: ids) else {
            let condition = area.map { " may read \($0.rawValue) of this app and" } ?? ""
            throw ServiceError(
                .invalidBody, "Expected the id of a staff member who\(condition) is not disabled.", field: field)
        }
    }
}

extension StaffDirectory {
    /// A directory without members.
    package static let empty = StaffDirectory { _, _, _ in [] }

    private struct Question: Encodable {
        var staff: [UUID]
        var app: String?
        var area: StaffArea?
    }

    private struct Answer: Decodable {
        var staff: [Member]
    }

    package init(of auth: ServiceAddress, calls: ServiceCalls) {
        self.init { ids, app, area in
            let answer = try await calls.post(
                "/internal/staff/names", Question(staff: ids, app: app, area: area), to: auth,
                upTo: Self.maximumAnswerSizeInBytes, within: Self.timeout)
            return try JSONDecoder().decode(Answer.self, from: Data(answer.body.readableBytesView)).staff
        }
    }
}
