import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

struct ListRuleVersions: Endpoint {
    static let route = Route(
        .get, "/collections/{collection}/rules/versions", "listRuleVersions",
        "Lists the versions of a collection's rules, newest first. The last 100 are kept.",
        callers: .manager(.read, .storage),
        parameters: [
            .collection
        ],
        answers: [
            .answer(
                200, "The versions.",
                .json(.object(["count": .integer, "data": .array(of: .ruleVersion)], required: ["count", "data"])))
        ],
        errors: [404: "The app has no such collection (`collection-not-found`)."])

    let versions: RuleVersions

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        .page(try await versions.list(of: context.collection, in: context.space).map(\.json.text))
    }
}

struct ReadRuleVersion: Endpoint {
    static let route = Route(
        .get, "/collections/{collection}/rules/versions/{number}", "readRuleVersion",
        "Returns a version of a collection's rules.", callers: .manager(.read, .storage),
        parameters: [
            .collection, .path("number", .integer),
        ],
        answers: [
            .answer(200, "The version with its `rules`.", .json(.ruleVersion))
        ],
        errors: [404: "The collection has no such version (`version-not-found`)."])

    let versions: RuleVersions

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (version, rules) = try await versions.read(
            try context.ruleVersion, of: context.collection, in: context.space)
        return .json(version.json.adding("rules", rules).text)
    }
}

struct CompareRuleVersions: Endpoint {
    static let route = Route(
        .get, "/collections/{collection}/rules/diff", "compareRuleVersions",
        "Compares two versions of a collection's rules.", callers: .manager(.read, .storage),
        parameters: [
            .collection,
            .query("from", .integer.range(1, Int(Int32.max)), "A version's number.", isRequired: true),
            .query("to", .integer.range(1, Int(Int32.max)), "A version's number.", isRequired: true),
        ],
        answers: [
            .answer(200, "The differences, sorted by place.", .json(.object(["changes": .array(of: .ruleChange)])))
        ],
        errors: [404: "The collection has no such version (`version-not-found`)."])

    let versions: RuleVersions

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (collection, space) = (try context.collection, try context.space)
        func rules(_ name: String) async throws -> JSONValue {
            let number = try ListQuery.integer(
                request.uri.queryParameters[Substring(name)] ?? "", name, in: 1...Int(Int32.max))
            return try await versions.read(number, of: collection, in: space).rules
        }
        let changes = RuleChange.between(try await rules("from"), try await rules("to"))
        return .json(JSONValue.object([.init("changes", .array(changes.map(\.json)))]).text)
    }
}

/// Sets the rules of an earlier version, as a new version. They are validated like any others, because a role that they
/// name may have been deleted.
struct RestoreRuleVersion: Endpoint {
    static let route = Route(
        .post, "/collections/{collection}/rules/versions/{number}/restore", "restoreRuleVersion",
        "Sets the rules of an earlier version again, as a new version.", callers: .manager(.update, .storage),
        parameters: [
            .collection, .path("number", .integer),
        ],
        answers: [
            .answer(200, "The rules now in effect, with `warnings`.", .json(.rules))
        ],
        errors: [
            400: "The rules can no longer be set: a role or collection that they name is gone (`invalid-body`).",
            404: "The collection has no such version (`version-not-found`).",
        ])

    let versions: RuleVersions
    let rules: RulesStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (collection, space) = (try context.collection, try context.space)
        let former = try await versions.read(try context.ruleVersion, of: collection, in: space).rules
        let restored = try CollectionRules(former)
        try restored.check()
        return try await .rules(
            rules.set(restored, on: collection, of: space, by: context.principal.author), rules, space)
    }
}

extension ServiceContext {
    /// - Throws: `version-not-found`.
    fileprivate var ruleVersion: Int {
        get throws {
            guard let number = Int(component("number")) else { throw ServiceError(.versionNotFound) }
            return number
        }
    }
}

extension Response {
    /// The rules as set, with warnings.
    static func rules(_ set: CollectionRules, _ rules: RulesStore, _ space: AppSchema) async throws -> Response {
        let warnings = RuleReport(rules: set, spaceAccess: try await rules.access(in: space)).warnings()
        return .json(set.json.adding("warnings", .array(warnings.map(\.json))).text)
    }
}
