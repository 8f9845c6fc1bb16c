import Foundation
import MartletAPI
import MartletCore
import MartletFlags
import MartletPostgres

/// An audience's `where` condition, compiled for evaluation against installations.
struct AudienceCondition: Sendable {
    private let condition: Condition
    /// Whether the condition uses the app's own attributes, which take the longest to read.
    let readsAttributes: Bool

    /// - Throws: `invalid-filter` with the fault and its position.
    init(_ json: JSONValue) throws {
        var compiler = ConditionCompiler()
        condition = compiler.compile(json)
        let errors = compiler.issues.filter(\.isError)
        guard errors.isEmpty else {
            throw ServiceError(
                .invalidFilter, errors.prefix(3).map { "\($0.message) (\($0.path))" }.joined(separator: " "),
                field: "where",
                findings: errors.map { Problem.Finding(.error, $0.code, at: $0.path, $0.message) })
        }
        guard !condition.testsRoles else {
            throw ServiceError(.invalidFilter, "Installations have no roles.", field: "where")
        }
        readsAttributes = json.text.contains("attributes")
    }

    func matches(_ facts: FlagAttributes) -> Bool { condition.matches(facts) }
}

/// The attributes of an installation that conditions can use.
enum InstallationFacts {
    /// The columns of `notifications.installations AS i`.
    static let columns: PostgresQuery = """
        i.platform, i.service, i.app_version, i.os_version, i.device_model, i.locale, i.time_zone, i.user_id, i.channels, i.created, i.seen, i.badge, i.attributes
        """

    /// - Parameter column: The index of the first of `columns`.
    static func read(_ row: PostgresRow, id: UUID, from column: Int, at time: Date, withAttributes: Bool) throws
        -> FlagAttributes
    {
        var facts: FlagAttributes = [
            "id": .string(id.uuidString.lowercased()), "now": .number(time.timeIntervalSince1970),
        ]
        for (offset, name) in [
            "platform", "service", "appVersion", "osVersion", "deviceModel", "locale", "timeZone", "userId",
        ].enumerated() {
            facts[name] = try row.decode(column + offset, as: String?.self).map { .string($0) }
        }
        facts["channels"] = .array(try row.decode(column + 8, as: [String].self).map { .string($0) })
        facts["created"] = .number(try row.decode(column + 9, as: Date.self).timeIntervalSince1970)
        facts["seen"] = .number(try row.decode(column + 10, as: Date.self).timeIntervalSince1970)
        facts["badge"] = .number(Double(try row.decode(column + 11, as: Int.self)))
        if case .string(let locale)? = facts["locale"], let tag = LanguageTag(locale) {
            let parts = tag.text.split(separator: "-")
            facts["language"] = parts.first.map { .string(String($0)) }
            facts["country"] = parts.dropFirst().first { $0.count == 2 }.map { .string(String($0)) }
        }
        if withAttributes {
            facts["attributes"] = FlagValue(
                try JSONValue(parsing: try row.decode(column + 12, as: PostgresJSON.self).bytes))
        }
        return facts
    }
}
