import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// A page of collections, by name.
struct ReadRuleReport: Endpoint {
    static let route = Route(
        .get, "/rules/report", "readRuleReport",
        "Returns who may do what in each collection, and what is open to anyone who has the app.",
        callers: .manager(.read, .storage),
        parameters: [
            .query("after", .string, "The last collection of the previous page."),
            .query("limit", .integer.range(1, 500).defaulting(to: 100)),
        ],
        details: """
            `operations` lists, for each operation, the callers that may perform it: `anyone`, `authenticated`, and at \
            most 50 of the users and roles that the rule names, if they may do more than `authenticated`. If the list \
            is empty, only the master key may. `objects` is `all`, or `some` if a condition or a field decides; `by` \
            names the rule's entries. The readers and writers of an object can restrict this further. `hidden` lists, \
            in the same form, who may read each hidden field.
            """,
        answers: [
            .answer(200, "The report.", .json(.ruleReport))
        ])

    private struct Entry: Encodable {
        var collection: String
        var operations: [String: [RuleReport.Kind]]
        /// A list, because a dictionary would take two fields that look alike for one.
        var hidden: [HiddenField]
    }

    private struct HiddenField: Encodable {
        var field: String
        var readers: [RuleReport.Kind]
    }

    private struct Page: Encodable {
        var access: String
        var count: Int
        var data: [Entry]
        var warnings: [RuleReport.Warning]
    }

    let rules: RulesStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let parameters = request.uri.queryParameters
        let limit = try parameters["limit"].map { try ListQuery.integer($0, "limit", in: 1...500) } ?? 100
        let space = try context.space
        let reports = try await rules.reports(
            after: parameters["after"].map(String.init) ?? "", limit: limit, of: space)
        let entries = reports.map { name, report in
            Entry(
                collection: name.text,
                operations: Dictionary(
                    uniqueKeysWithValues: CollectionRules.Operation.allCases.map {
                        ($0.rawValue, report.kinds(of: $0))
                    }),
                hidden: (report.rules.hidden ?? [:]).keys.sorted().map {
                    HiddenField(field: $0.text, readers: report.readers(of: $0))
                })
        }
        return try .encoding(
            Page(
                access: try await rules.access(in: space).rawValue, count: entries.count, data: entries,
                warnings: reports.flatMap { $1.warnings(in: $0) }))
    }
}
