import Foundation
package import MartletAPI
import MartletCore
package import MartletPostgres
import Synchronization

/// Adds names of staff members to answers, and whether an assignee is gone: deleted, disabled, or no longer allowed to
/// read the area.
package final class AssigneeNames: Sendable {
    /// How long lists contain no names after a failed call to auth.
    private static let pause: Duration = .seconds(5)

    private let directory: StaffDirectory
    private let pausedUntil = Mutex<ContinuousClock.Instant?>(nil)

    package init(directory: StaffDirectory) {
        self.directory = directory
    }

    /// Adds `assigneeName` (null if there is no assignee, or no known one) and `isAssigneeGone` (null while auth is
    /// unavailable) to each object.
    ///
    /// - Parameter objects: JSON objects as text, each with a member `assignee`: a staff member's id, or null.
    package func named(_ objects: [String], _ area: StaffArea, in space: Space) async throws -> [String] {
        let assignees = try objects.map { text -> UUID? in
            if case .string(let id)? = try JSONValue(parsing: text.utf8)["assignee"] {
                UUID(uuidString: id)
            } else {
                nil
            }
        }
        let names = try await names(of: Set(assignees.compactMap(\.self)), area, in: space)
        return zip(objects, assignees).map { text, assignee in
            let name = assignee.flatMap { names?[$0] }
            let isGone = assignee == nil ? "false" : names.map { _ in name == nil ? "true" : "false" } ?? "null"
            return text.dropLast()
                + #","assigneeName":\#(name.map(JSONValue.quote) ?? "null"),"isAssigneeGone":\#(isGone)}"#
        }
    }

    /// Adds `authorName` and `toName` to the entries of a history: the names of the staff members in `author`
    /// (`staff:<id>`) and, for an assignment, in `details.to`. Null for others, and while auth is unavailable.
    package func namedEntries(_ entries: [String], _ area: StaffArea, in space: Space) async throws -> [String] {
        let staff = try entries.map { text -> (author: UUID?, assignee: UUID?) in
            let entry = try JSONValue(parsing: text.utf8)
            var (author, assignee): (UUID?, UUID?)
            if case .string(let text)? = entry["author"], text.hasPrefix("staff:") {
                author = UUID(uuidString: String(text.dropFirst("staff:".count)))
            }
            if case .string(let id)? = entry["details"]?["to"] { assignee = UUID(uuidString: id) }
            return (author, assignee)
        }
        let ids = staff.flatMap { [$0.author, $0.assignee].compactMap(\.self) }
        let names = try await names(of: Set(ids), area, in: space)
        func name(_ id: UUID?) -> String { id.flatMap { names?[$0] }.map(JSONValue.quote) ?? "null" }
        return zip(entries, staff).map { text, staff in
            text.dropLast() + #","authorName":\#(name(staff.author)),"toName":\#(name(staff.assignee))}"#
        }
    }

    /// The names of the members found; nil if auth is unavailable.
    private func names(of ids: Set<UUID>, _ area: StaffArea, in space: Space) async throws -> [UUID: String]? {
        guard !ids.isEmpty else { return [:] }
        if let until = pausedUntil.withLock({ $0 }), .now < until { return nil }
        var names: [UUID: String] = [:]
        do {
            let ids = Array(ids)
            for start in stride(from: 0, to: ids.count, by: StaffDirectory.maximumStaff) {
                let some = Array(ids[start..<min(start + StaffDirectory.maximumStaff, ids.count)])
                for member in try await directory.members(some, space.appID, area) {
                    names[member.id] = member.userName
                }
            }
            return names
        } catch let error where !(error is CancellationError) {
            pausedUntil.withLock { $0 = .now + Self.pause }
            return nil
        }
    }
}
