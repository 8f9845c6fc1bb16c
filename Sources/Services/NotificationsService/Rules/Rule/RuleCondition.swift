import MartletAPI
import MartletCore
import MartletFlags
import MartletLogic

/// The condition of a rule: `where`, in the MongoDB-like syntax of flags, and `if`, in JsonLogic. Both are optional and
/// must hold.
struct RuleCondition: Sendable {
    private static let limits = LogicLimits(maximumDepth: 32, maximumSteps: 20_000)

    private let condition: Condition?
    private let logic: JSONLogic?

    /// - Throws: `invalid-body` that names the place.
    init(where json: JSONValue?, if rule: JSONValue?) throws {
        condition = try json.flatMap { try Self.condition($0) }
        logic = try rule.flatMap { try Self.logic($0) }
    }

    private static func condition(_ json: JSONValue) throws -> Condition? {
        guard json != .null else { return nil }
        var compiler = ConditionCompiler()
        let condition = compiler.compile(json)
        if let issue = compiler.issues.first(where: \.isError) {
            throw ServiceError(.invalidBody, issue.message, field: "where" + issue.path.replacing("/", with: "."))
        }
        return condition
    }

    private static func logic(_ json: JSONValue) throws -> JSONLogic? {
        guard json != .null else { return nil }
        do {
            return try JSONLogic(try LogicValue(json: json.text), limits: limits)
        } catch let error as LogicError {
            throw ServiceError(.invalidBody, "\(error)", field: "if")
        } catch {
            throw ServiceError(.invalidBody, "Expected a JsonLogic rule.", field: "if")
        }
    }

    /// The part of the condition that does not hold; nil if all of it holds.
    ///
    /// - Throws: `LogicError` when the evaluation exceeds its limits.
    func failure(_ facts: Facts) throws -> String? {
        if let condition, !condition.matches(FlagValue(facts.json)) { return "where does not hold." }
        if let logic, !(try logic.evaluate(try LogicValue(json: facts.json.text))).isTruthy {
            return "if does not hold."
        }
        return nil
    }
}
