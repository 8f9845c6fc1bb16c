import Foundation
import MartletKit
import MartletLogic

extension LogicValue {
    init(_ json: JSON) {
        switch json {
        case .null: self = .null
        case .bool(let value): self = .bool(value)
        case .number(let value): self = .number(value.double)
        case .string(let value): self = .string(value)
        case .array(let elements): self = .array(elements.map(LogicValue.init))
        case .object(let members): self = .object(members.mapValues(LogicValue.init))
        }
    }
}

extension JSON {
    init(_ value: LogicValue) {
        switch value {
        case .null: self = .null
        case .bool(let value): self = .bool(value)
        case .number(let value): self = JSONNumber(value).map(JSON.number) ?? .null
        case .string(let value): self = .string(value)
        case .array(let elements): self = .array(elements.map(JSON.init))
        case .object(let members): self = .object(members.mapValues(JSON.init))
        }
    }

    /// As a label shows it. Null is empty, and so are lists and objects.
    var shownText: String {
        switch self {
        case .string(let text): text
        case .number(let number): number.text
        case .bool(let value): value ? "true" : "false"
        case .null, .array, .object: ""
        }
    }
}

/// The context in which the values of a definition are computed.
struct DefinitionValues: Sendable {
    private static let limits = LogicLimits(maximumDepth: 64, maximumSteps: 10_000)

    private let operations: LogicOperations
    private let translate: @Sendable (String) -> String

    init(_ options: DefinitionOptions, language: String, translate: @escaping @Sendable (String) -> String) {
        let locale = options.locale ?? Locale(identifier: language)
        var operations = LogicOperations.views(locale: locale, timeZone: options.timeZone)
        for (name, operation) in options.components.operations {
            operations[name] = { LogicValue(operation($0.map(JSON.init))) }
        }
        self.operations = operations
        self.translate = translate
    }

    /// The value of a property: `@` and `@.field` are taken from the model, `{"translation": key}` is a text, and
    /// `{"logic": rule}` is computed from the model. What cannot be computed is null: a view never fails.
    ///
    /// Values from the model are not resolved again, so data cannot add bindings.
    func resolve(_ value: JSON, model: JSON) -> JSON {
        switch value {
        case .string(let text) where text.hasPrefix("@"): return Self.bound(text, model)
        case .object(let members):
            if members.count == 1, let key = members["translation"]?.stringValue { return .string(translate(key)) }
            if members.count == 1, let rule = members["logic"] { return evaluate(rule, model) }
            return .object(members.mapValues { resolve($0, model: model) })
        case .array(let elements): return .array(elements.map { resolve($0, model: model) })
        default: return value
        }
    }

    /// Null if the rule cannot be evaluated.
    func evaluate(_ rule: JSON, _ data: JSON) -> JSON {
        do {
            let logic = try JSONLogic(LogicValue(rule), operations: operations, limits: Self.limits)
            return JSON(try logic.evaluate(LogicValue(data)))
        } catch {
            return .null
        }
    }

    /// Whether the rule's value counts as true in JavaScript.
    func holds(_ rule: JSON, _ data: JSON) -> Bool { LogicValue(evaluate(rule, data)).isTruthy }

    private static func bound(_ text: String, _ model: JSON) -> JSON {
        if text == "@" { return model }
        guard text.hasPrefix("@.") else { return .null }
        return text.dropFirst(2).split(separator: ".").reduce(model) { value, name in
            value[String(name)] ?? Int(name).flatMap { value[$0] } ?? .null
        }
    }
}
