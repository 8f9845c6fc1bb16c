import Foundation
import HTTPTypes
import MartletAPI
import MartletCore
import MartletHTTP
import NIOCore

/// Who of staff there is. Auth knows; nothing is remembered here, so that who leaves, or loses a right, is gone at once.
struct StaffDirectory: Sendable {
    /// Ids in one question.
    static let maximumStaff = 100
    /// Somebody waits for an answer that needs to know.
    private static let patience: Duration = .seconds(2)
    private static let maximumAnswerSizeInBytes = 64 << 10

    struct Member: Sendable, Decodable {
        var id: UUID
        var userName: String
        /// Where mail reaches them; nil: nowhere.
        var email: String?
    }

    /// Those of these who are there and not disabled and, with an area, may read it in an app.
    ///
    /// - Throws: as `ServiceCalls.post`.
    let members: @Sendable (_ ids: [UUID], _ app: String?, _ area: StaffArea?) async throws -> [Member]

    init(members: @escaping @Sendable (_ ids: [UUID], _ app: String?, _ area: StaffArea?) async throws -> [Member]) {
        self.members = members
    }

    /// Looks whether work may be given to somebody. Whoever asks is staff for certain.
    ///
    /// - Parameter area: which they must be able to read in the app; nil: it is enough that they are there.
    /// - Throws: `invalid-body` for who is not there or is disabled; `unavailable` while auth cannot say.
    func check(_ assignee: UUID, of area: StaffArea? = nil, askedBy principal: Principal) async throws {
        if let staff = principal.staff, UUID(uuidString: staff.id) == assignee { return }
        try await check([assignee], principal.appID, area, field: "assignee")
    }

    /// - Throws: as `check(_:of:askedBy:)`.
    func check(_ ids: [UUID], _ app: String?, _ area: StaffArea?, field: String) async throws {
        let known: Set<UUID>
        do {
            known = Set(try await members(ids, app, area).map(\.id))
        } catch let error where !(error is CancellationError) {
            throw HTTPProblem(
                .unavailable, "Auth cannot say whether there is such a staff member. Try again.", cause: "\(error)", headers: [.retryAfter: "5"])
        }
        guard known.isSuperset(of: ids) else {
            let more = area.map { " They may not read \($0.rawValue) of this app, perhaps." } ?? ""
            throw HTTPProblem(.invalidBody, "There is no such staff member, or they are disabled.\(more)", field: field)
        }
    }
}

extension StaffDirectory {
    /// Nobody is known.
    static let empty = StaffDirectory { _, _, _ in [] }

    private struct Question: Encodable {
        var staff: [UUID]
        var app: String?
        var area: StaffArea?
    }

    private struct Answer: Decodable {
        var staff: [Member]
    }

    init(of auth: ServiceAddress, calls: ServiceCalls) {
        self.init { ids, app, area in
            let answer = try await calls.post(
                "/internal/staff/names", Question(staff: ids, app: app, area: area), to: auth, upTo: Self.maximumAnswerSizeInBytes, within: Self.patience)
            return try JSONDecoder().decode(Answer.self, from: Data(answer.body.readableBytesView)).staff
        }
    }
}
