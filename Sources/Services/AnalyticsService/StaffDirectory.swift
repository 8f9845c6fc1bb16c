import Foundation
import HTTPTypes
import MartletAPI
import MartletCore
import MartletHTTP
import NIOCore

/// Who of staff there is. Auth knows; nothing is remembered here, as people are given work rarely.
struct StaffDirectory: Sendable {
    /// Somebody waits for an answer that needs to know.
    private static let patience: Duration = .seconds(2)
    private static let maximumAnswerSizeInBytes = 64 << 10

    /// Those of these who are there and not disabled.
    ///
    /// - Throws: as `ServiceCalls.post`.
    var known: @Sendable (_ ids: [UUID]) async throws -> Set<UUID>

    /// Looks whether work may be given to somebody. Whoever asks is staff for certain.
    ///
    /// - Throws: `invalid-body` for who is not there or is disabled; `unavailable` while auth cannot say.
    func check(_ assignee: UUID, askedBy principal: Principal) async throws {
        if let staff = principal.staff, UUID(uuidString: staff.id) == assignee { return }
        let known: Set<UUID>
        do {
            known = try await self.known([assignee])
        } catch let error where !(error is CancellationError) {
            throw HTTPProblem(
                .unavailable, "Auth cannot say whether there is such a staff member. Try again.", cause: "\(error)", headers: [.retryAfter: "5"])
        }
        guard known.contains(assignee) else {
            throw HTTPProblem(.invalidBody, "There is no such staff member, or they are disabled.", field: "assignee")
        }
    }
}

extension StaffDirectory {
    /// Nobody is known.
    static let empty = StaffDirectory { _ in [] }

    private struct Question: Encodable {
        var staff: [UUID]
    }

    private struct Answer: Decodable {
        struct Member: Decodable {
            var id: UUID
        }

        var staff: [Member]
    }

    init(of auth: ServiceAddress, calls: ServiceCalls) {
        self.init { ids in
            let answer = try await calls.post(
                "/internal/staff/names", Question(staff: ids), to: auth, upTo: Self.maximumAnswerSizeInBytes, within: Self.patience)
            return Set(try JSONDecoder().decode(Answer.self, from: Data(answer.body.readableBytesView)).staff.map(\.id))
        }
    }
}
