import Foundation
public import MartletKit

/// What the user enters in a `Form`. Renderers write values into it and show its problems.
///
/// Values are JSON. A `TextField` has a text (a number if its `keyboard` is `number`), a `Toggle` true or false, and a
/// `Picker` the value of an option. A `DatePicker` has a text that depends on its `mode`: `2026-08-24`, `09:30` or
/// `2026-08-24T09:30:00Z`.
public final class DefinitionForm: Sendable {
    static let inputKinds: Set<String> = ["TextField", "Toggle", "Picker", "DatePicker"]
    static let maximumOptions = 500
    private static let maximumFields = 200

    private struct State {
        var fields: [DefinitionField] = []
        var values: [String: JSON] = [:]
        var problems: [String: String] = [:]
    }

    private let state = Locked(State())

    /// What was entered, by field.
    public var values: [String: JSON] { state.withLock { $0.values } }

    /// What was wrong at the last ``validate()``, by field.
    public var problems: [String: String] { state.withLock { $0.problems } }

    /// The value of a field. Null or nil clears it. Setting a name that is not a field of the form has no effect.
    public subscript(field: String) -> JSON? {
        get { state.withLock { $0.values[field] } }
        set {
            state.withLock { state in
                guard state.fields.contains(where: { $0.name == field }) else { return }
                state.values[field] = newValue == .null ? nil : newValue
                state.problems[field] = nil
            }
        }
    }

    /// Adds a field with its first value when the form is built.
    func add(_ node: DefinitionNode) {
        guard let field = DefinitionField(node) else { return }
        state.withLock { state in
            guard state.fields.count < Self.maximumFields else { return }
            state.fields.append(field)
            if let value = field.initialValue { state.values[field.name] = value }
        }
    }

    /// Checks every field.
    ///
    /// - Returns: Whether the form can be submitted. If not, see ``problems``.
    @discardableResult
    public func validate() -> Bool {
        let (fields, values) = state.withLock { ($0.fields, $0.values) }
        var problems: [String: String] = [:]
        for field in fields {
            guard let problem = field.problem(of: values[field.name], all: values) else { continue }
            problems[field.name] = problem
        }
        state.withLock { [problems] in $0.problems = problems }
        return problems.isEmpty
    }

    /// The values as an object for the server, with the numbers of number fields as numbers.
    var object: JSON {
        let (fields, values) = state.withLock { ($0.fields, $0.values) }
        var object: [String: JSON] = [:]
        for field in fields {
            guard let value = values[field.name], value != .string("") else { continue }
            object[field.name] = field.submitted(value)
        }
        return .object(object)
    }

    /// - Parameter mode: `date`, `time` or `date_time`; by default a date.
    static func date(_ text: String, mode: String?) -> Date? {
        switch mode {
        case "date_time": RFC3339.date(text)
        case "time": RFC3339.date("2000-01-01T" + text + ":00Z")
        default: RFC3339.date(text + "T00:00:00Z")
        }
    }

    /// The reverse of `date(_:mode:)`: `2026-08-24`, `09:30` or `2026-08-24T09:30:00.000Z`.
    static func text(_ date: Date, mode: String?) -> String {
        let text = RFC3339.text(date)
        switch mode {
        case "date_time": return text
        case "time": return String(text.dropFirst(11).prefix(5))
        default: return String(text.prefix(10))
        }
    }
}
