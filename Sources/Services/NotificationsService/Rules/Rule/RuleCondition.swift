import MartletAPI
import MartletCore
import MartletFlags
import MartletHTTP
import MartletLogic

/// Whether a rule acts on what happened: a condition in the Mongo-like language of flags (`where`), JsonLogic (`if`),
/// both, or none.
struct RuleCondition: Sendable {
    private static let limits = LogicLimits(maximumDepth: 32, maximumSteps: 20_000)

    private let condition: Condition?
    private let logic: JSONLogic?

    /// - Throws: `invalid-body` naming the place.
    init(where json: JSONValue?, if rule: JSONValue?) throws {
        condition = try json.flatMap { try Self.condition($0) }
        logic = try rule.flatMap { try Self.logic($0) }
    }

    private static func condition(_ json: JSONValue) throws -> Condition? {
        guard json != .null else { return nil }
        var compiler = ConditionCompiler()
        let condition = compiler.compile(json)
        if let issue = compiler.issues.first(where: \.isError) {
            throw HTTPProblem(.invalidBody, issue.message, field: "where" + issue.path.replacing("/", with: "."))
        }
        return condition
    }

    private static func logic(_ json: JSONValue) throws -> JSONLogic? {
        guard json != .null else { return nil }
        do {
            return try JSONLogic(try LogicValue(json: json.text), limits: limits)
        } catch let error as LogicError {
            throw HTTPProblem(.invalidBody, "\(error)", field: "if")
        } catch {
            throw HTTPProblem(.invalidBody, "This is no JsonLogic.", field: "if")
        }
    }

    /// Nil: it holds; else which part does not.
    ///
    /// - Throws: `LogicError` for logic that comes to no end.
    func failure(_ facts: Facts) throws -> String? {
        if let condition, !condition.matches(FlagValue(facts.json)) { return "where does not hold." }
        if let logic, !(try logic.evaluate(try LogicValue(json: facts.json.text))).isTruthy {
            return "if does not hold."
        }
        return nil
    }
}
