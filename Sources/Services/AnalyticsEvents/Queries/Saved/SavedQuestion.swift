import MartletAPI
import MartletCore
import MartletHTTP

/// A question that can be asked again by its name. The period is a number of days that ends today.
struct SavedQuestion: Sendable {
    static let maximumPerSpace = 100
    static let maximumNameLength = 100
    private static let maximumValueSizeInBytes = 1_000

    /// The call that answers the question, named as the last part of its path.
    enum Kind: String, Sendable, CaseIterable {
        case counts, people, sessions, screens, retention, funnel

        /// The call's query parameters that can be saved. The period and the format are not among them.
        fileprivate var parameters: Set<String> {
            let filters: Set = ["event", "release", "os", "device", "country", "configuration", "variants", "where"]
            return switch self {
            case .counts: filters.union(["interval", "group", "property"])
            case .people, .sessions, .retention: ["interval"]
            case .screens: filters
            case .funnel: []
            }
        }
    }

    var kind: Kind
    var days: Int
    /// By name.
    var parameters: [String: String]
    var funnel: FunnelQuestion?
    /// Whether the dashboard shows the answer on the app's overview.
    var isOnOverview: Bool

    static let fields: Set = ["kind", "days", "parameters", "steps", "windowSeconds", "isOnOverview"]

    /// - Throws: `invalid-body`.
    init(_ fields: BodyFields) throws {
        kind = try fields.requiredChoice("kind")
        days = try fields.integer("days", in: 1...Span.maximumDays) ?? 30
        parameters = try Self.parameters(fields, kind)
        isOnOverview = try fields.flag("isOnOverview") ?? false
        if kind == .funnel {
            funnel = try FunnelQuestion(fields)
        } else if let name = ["steps", "windowSeconds"].first(where: { fields[$0] != nil }) {
            throw ServiceError(.invalidBody, "Only a funnel has this member.", field: name)
        }
    }

    /// The stored form of the question, without the name and `isOnOverview`.
    var json: JSONValue {
        var members = [JSONValue.Member("kind", .string(kind.rawValue)), .init("days", .number(String(days)))]
        if let funnel {
            members.append(.init("steps", .array(funnel.steps.map { .string($0) })))
            members.append(.init("windowSeconds", .number(String(funnel.windowInSeconds))))
        } else {
            let sorted = parameters.sorted { $0.key < $1.key }
            members.append(.init("parameters", .object(sorted.map { .init($0.key, .string($0.value)) })))
        }
        return .object(members)
    }

    private static func parameters(_ fields: BodyFields, _ kind: Kind) throws -> [String: String] {
        let parameters = try fields.strings(in: "parameters", kind.parameters)
        for (name, value) in parameters {
            guard (1...maximumValueSizeInBytes).contains(value.utf8.count), !value.utf8.contains(0) else {
                throw ServiceError(
                    .invalidBody, "Expected 1 to \(maximumValueSizeInBytes) bytes.", field: "parameters.\(name)")
            }
        }
        if let interval = parameters["interval"], Span.Interval(rawValue: interval) == nil {
            let names = Span.Interval.allCases.map(\.rawValue).joined(separator: ", ")
            throw ServiceError.unexpectedMember(
                "parameters.interval", expected: "one of \(names)", found: interval)
        }
        return parameters
    }

    /// Whether a question can have this name: one line without a slash, which would divide its path.
    static func isName(_ name: String) -> Bool {
        (1...maximumNameLength).contains(name.unicodeScalars.count) && name != "." && name != ".."
            && !name.unicodeScalars.contains { $0 == "/" || $0.properties.generalCategory == .control }
    }
}
