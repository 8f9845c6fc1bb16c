import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

extension ServiceContext {
    /// The staff member's id in the path.
    ///
    /// - Throws: `staff-not-found` for a malformed id.
    var staffID: UUID {
        get throws { try uuid("id", else: .staffNotFound) }
    }

    /// The session of the calling staff member.
    var staffSession: UUID {
        get throws {
            guard let id = try principal.sessionID.flatMap({ UUID(uuidString: $0) }) else {
                throw ServiceError(.invalidToken)
            }
            return id
        }
    }
}

extension StaffGrant {
    var uuid: UUID {
        get throws {
            guard let id = UUID(uuidString: id) else { throw ServiceError(.invalidToken) }
            return id
        }
    }
}

extension StaffActor {
    init(_ staff: StaffGrant, _ request: Request) throws {
        self.init(id: try staff.uuid, address: request.staffAddress)
    }
}

extension BodyFields {
    /// Part of a person's name, without spaces around it; nil if absent, null or empty.
    ///
    /// - Throws: `invalid-body`.
    func personName(_ field: String) throws -> String? {
        guard let text = try string(field)?.trimmingCharacters(in: .whitespaces), !text.isEmpty else { return nil }
        guard text.count <= 100, text.utf8.count <= 400,
            !text.unicodeScalars.contains(where: { $0.value < 0x20 || $0.value == 0x7f })
        else {
            throw ServiceError(
                .invalidBody, "Expected at most 100 characters, without control characters.", field: field)
        }
        return text
    }

    func staffName() throws -> StaffName? { try string("userName").map { try StaffName($0) } }

    /// Reads `{"<app or *>":{"<area>":["create","read","update","delete"]}}`. Areas and actions must be known; apps
    /// need not be.
    func rights() throws -> StaffRights? {
        guard let text = try object("rights", upTo: 16 << 10) else { return nil }
        func invalid(_ detail: String) -> ServiceError { ServiceError(.invalidBody, detail, field: "rights") }
        guard let apps = try? JSONDecoder().decode([String: [String: [String]]].self, from: Data(text.utf8)) else {
            throw invalid("Expected an object that maps apps to areas, and areas to arrays of actions.")
        }
        var rights: [String: StaffRights.Areas] = [:]
        for (app, areas) in apps {
            for (name, actions) in areas {
                guard let area = StaffArea(rawValue: name) else {
                    let areas = StaffArea.allCases.map(\.rawValue).joined(separator: ", ")
                    throw invalid("Expected one of the areas \(areas), found \(JSONValue.excerpt(name)).")
                }
                guard !area.isServerWide || app == StaffRights.everyApp else {
                    throw invalid("The area \(name) does not belong to an app. Expected this area under *.")
                }
                let valid = actions.compactMap(StaffAction.init)
                guard valid.count == actions.count else {
                    throw invalid("Expected the actions create, read, update, delete, found another in \(name).")
                }
                rights[app, default: [:]][area] = Set(valid)
            }
        }
        return StaffRights(rights)
    }
}
