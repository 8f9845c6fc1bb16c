import Foundation

/// What the user enters in a `Form`. Renderers write values into it and show its problems.
///
/// Values are JSON: text of a `TextField` (a number if its `keyboard` is `number`), true or false of a `Toggle`, an
/// option's value of a `Picker`, and of a `DatePicker` a text such as `2026-08-24`, `09:30` or `2026-08-24T09:30:00Z`
/// by its `mode`.
public final class DefinitionForm: Sendable {
    static let inputKinds: Set<String> = ["TextField", "Toggle", "Picker", "DatePicker"]
    static let maximumOptions = 500
    private static let maximumFields = 200
    private static let maximumTextLength = 10_000

    private struct State {
        var fields: [DefinitionNode] = []
        var values: [String: JSON] = [:]
        var problems: [String: String] = [:]
    }

    private let state = Locked(State())

    /// What was entered, by field.
    public var values: [String: JSON] { state.withLock { $0.values } }

    /// What was wrong at the last ``validate()``, by field.
    public var problems: [String: String] { state.withLock { $0.problems } }

    /// The value of a field. Null or nil clears it. What is not a field of the form is ignored.
    public subscript(field: String) -> JSON? {
        get { state.withLock { $0.values[field] } }
        set {
            state.withLock { state in
                guard state.fields.contains(where: { $0.field == field }) else { return }
                state.values[field] = newValue == .null ? nil : newValue
                state.problems[field] = nil
            }
        }
    }

    /// Adds a field with its first value when the form is built.
    func add(_ node: DefinitionNode) {
        guard let field = node.field else { return }
        let value = node.own("value") ?? (node.kind == "TextField" ? node.own("text") : nil)
        state.withLock { state in
            guard state.fields.count < Self.maximumFields else { return }
            state.fields.append(node)
            if let value, value != .null { state.values[field] = value }
            if node.kind == "Toggle", state.values[field] == nil { state.values[field] = false }
        }
    }

    /// Checks every field.
    ///
    /// - Returns: Whether the form can be submitted. If not, see ``problems``.
    @discardableResult
    public func validate() -> Bool {
        let (fields, values) = state.withLock { ($0.fields, $0.values) }
        var problems: [String: String] = [:]
        for node in fields {
            guard let field = node.field, let problem = Self.problem(of: values[field], in: node, all: values) else {
                continue
            }
            let own = node.own("message")?.shownText ?? ""
            problems[field] = own.isEmpty ? problem : own
        }
        state.withLock { $0.problems = problems }
        return problems.isEmpty
    }

    /// The values as an object for the server, with the numbers of number fields as numbers.
    var object: JSON {
        let (fields, values) = state.withLock { ($0.fields, $0.values) }
        var object: [String: JSON] = [:]
        for node in fields {
            guard let field = node.field, let value = values[field], value != .string("") else { continue }
            object[field] = Self.isNumberField(node) ? Self.number(value).map(JSON.number) ?? value : value
        }
        return .object(object)
    }

    private static func problem(of value: JSON?, in node: DefinitionNode, all: [String: JSON]) -> String? {
        guard let value, value != .string(""), value != .null, value != false else {
            return node.argument("required")?.boolValue == true ? "This is required." : nil
        }
        let problem =
            switch node.kind {
            case "TextField": problem(ofText: value, in: node)
            case "Toggle": value.boolValue == nil ? "This must be on or off." : nil
            case "Picker": node.options.contains { $0.value == value } ? nil : "Choose one of the options."
            case "DatePicker": problem(ofDate: value, in: node)
            default: String?.none
            }
        if let problem { return problem }
        guard let rule = node.scope.members["validation"]?["logic"] else { return nil }
        return node.scope.values.holds(rule, .object(all)) ? nil : "This value is not accepted."
    }

    private static func problem(ofText value: JSON, in node: DefinitionNode) -> String? {
        let text = value.shownText
        let most = min(node.own("max_length")?.intValue ?? maximumTextLength, maximumTextLength)
        if text.count > most { return "At most \(most) characters." }
        if let least = node.own("min_length")?.intValue, text.count < least { return "At least \(least) characters." }
        switch node.own("keyboard")?.stringValue {
        case "number": return number(value) == nil ? "This must be a number." : nil
        case "email":
            let parts = text.split(separator: "@", omittingEmptySubsequences: false)
            let isAddress = parts.count == 2 && !parts[0].isEmpty && parts[1].contains(".") && !text.contains(" ")
            return isAddress ? nil : "This must be an email address."
        default: return nil
        }
    }

    private static func problem(ofDate value: JSON, in node: DefinitionNode) -> String? {
        let mode = node.own("mode")?.stringValue
        func date(_ json: JSON?) -> Date? { json?.stringValue.flatMap { Self.date($0, mode: mode) } }
        guard let chosen = date(value) else { return "This must be a date or time." }
        if let least = date(node.own("minimum")), chosen < least { return "This is too early." }
        if let most = date(node.own("maximum")), chosen > most { return "This is too late." }
        return nil
    }

    /// - Parameter mode: `date`, `time` or `date_time`; by default a date.
    static func date(_ text: String, mode: String?) -> Date? {
        switch mode {
        case "date_time": RFC3339.date(text)
        case "time": RFC3339.date("2000-01-01T" + text + ":00Z")
        default: RFC3339.date(text + "T00:00:00Z")
        }
    }

    /// The other way: `2026-08-24`, `09:30` or `2026-08-24T09:30:00.000Z`.
    static func text(_ date: Date, mode: String?) -> String {
        let text = RFC3339.text(date)
        switch mode {
        case "date_time": return text
        case "time": return String(text.dropFirst(11).prefix(5))
        default: return String(text.prefix(10))
        }
    }

    private static func isNumberField(_ node: DefinitionNode) -> Bool {
        node.kind == "TextField" && node.own("keyboard")?.stringValue == "number"
    }

    /// What the user types may have a comma for the point.
    private static func number(_ value: JSON) -> JSONNumber? {
        if let number = value.numberValue { return number }
        let text = value.shownText.replacingOccurrences(of: ",", with: ".")
        guard text.utf8.count <= 40, let double = Double(text), double.isFinite else { return nil }
        return JSONNumber(text: text) ?? JSONNumber(double)
    }
}
