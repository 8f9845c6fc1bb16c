import Foundation
import MartletAPI
import MartletCore
import MartletPostgres
import Synchronization

/// Says of objects with an `assignee` who that is, and whether they are gone: deleted, disabled, or without the right to read the area any more.
final class AssigneeNames: Sendable {
    /// Without an answer from auth nobody is asked again for so long: lists do without names meanwhile.
    private static let pause: Duration = .seconds(5)

    private let directory: StaffDirectory
    private let awayUntil = Mutex<ContinuousClock.Instant?>(nil)

    init(directory: StaffDirectory) {
        self.directory = directory
    }

    /// Each object with `assigneeName` (null: nobody's, or gone) and `isAssigneeGone`, which is null while auth cannot say.
    ///
    /// - Parameter objects: texts of JSON objects that have a member `assignee`: a staff member's id, or null.
    func named(_ objects: [String], _ area: StaffArea, in space: Space) async throws -> [String] {
        let assignees = try objects.map { text -> UUID? in
            if case .string(let id)? = try JSONValue(parsing: text.utf8)["assignee"] { UUID(uuidString: id) } else { nil }
        }
        let names = try await names(of: Set(assignees.compactMap(\.self)), area, in: space)
        return zip(objects, assignees).map { text, assignee in
            let name = assignee.flatMap { names?[$0] }
            let isGone = assignee == nil ? "false" : names.map { _ in name == nil ? "true" : "false" } ?? "null"
            return text.dropLast() + #","assigneeName":\#(name.map(JSONValue.quote) ?? "null"),"isAssigneeGone":\#(isGone)}"#
        }
    }

    /// Of those who are there; nil: nobody can say.
    private func names(of ids: Set<UUID>, _ area: StaffArea, in space: Space) async throws -> [UUID: String]? {
        guard !ids.isEmpty else { return [:] }
        if let until = awayUntil.withLock({ $0 }), .now < until { return nil }
        var names: [UUID: String] = [:]
        do {
            let ids = Array(ids)
            for start in stride(from: 0, to: ids.count, by: StaffDirectory.maximumStaff) {
                let some = Array(ids[start..<min(start + StaffDirectory.maximumStaff, ids.count)])
                for member in try await directory.members(some, space.appID, area) { names[member.id] = member.userName }
            }
            return names
        } catch let error where !(error is CancellationError) {
            awayUntil.withLock { $0 = .now + Self.pause }
            return nil
        }
    }
}
