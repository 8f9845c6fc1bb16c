import Foundation
import MartletKit

/// A field of a form, with the conditions that its value must meet.
///
/// It keeps no reference to views, because views refer to their form. A closed screen is therefore released together
/// with its input.
struct DefinitionField: Sendable {
    private static let maximumTextLength = 10_000

    let name: String
    /// Nil if the definition gives none.
    let initialValue: JSON?
    private let kind: String
    private let isRequired: Bool
    private let keyboard: String?
    private let mode: String?
    private let lengths: (least: Int, most: Int)
    private let dates: (least: JSON?, most: JSON?)
    private let options: [JSON]
    private let rule: JSON?
    private let values: DefinitionValues
    /// The definition's own message for all problems; empty if there is none.
    private let message: String

    /// Nil if the view is not a field.
    init?(_ node: DefinitionNode) {
        guard let name = node.field else { return nil }
        self.name = name
        kind = node.kind
        let value = node.own("value") ?? (kind == "TextField" ? node.own("text") : nil)
        initialValue = value != nil && value != .null ? value : kind == "Toggle" ? false : nil
        isRequired = node.argument("required")?.boolValue == true
        keyboard = node.own("keyboard")?.stringValue
        mode = node.own("mode")?.stringValue
        let most = node.own("max_length")?.intValue ?? Self.maximumTextLength
        lengths = (node.own("min_length")?.intValue ?? 0, min(most, Self.maximumTextLength))
        dates = (node.own("minimum"), node.own("maximum"))
        options = kind == "Picker" ? node.options.map(\.value) : []
        rule = node.scope.members["validation"]?["logic"]
        values = node.scope.values
        message = node.own("message")?.shownText ?? ""
    }

    /// What is wrong with a value; nil if nothing is.
    func problem(of value: JSON?, all: [String: JSON]) -> String? {
        guard let problem = builtInProblem(of: value, all: all) else { return nil }
        return message.isEmpty ? problem : message
    }

    /// The value to send to the server. The text of a number field becomes a number.
    func submitted(_ value: JSON) -> JSON {
        guard kind == "TextField", keyboard == "number" else { return value }
        return Self.number(value).map(JSON.number) ?? value
    }

    private func builtInProblem(of value: JSON?, all: [String: JSON]) -> String? {
        guard let value, value != .string(""), value != .null, value != false else {
            return isRequired ? "This is required." : nil
        }
        let problem =
            switch kind {
            case "TextField": problem(ofText: value)
            case "Toggle": value.boolValue == nil ? "This must be on or off." : nil
            case "Picker": options.contains(value) ? nil : "Choose one of the options."
            case "DatePicker": problem(ofDate: value)
            default: String?.none
            }
        if let problem { return problem }
        guard let rule else { return nil }
        return values.holds(rule, .object(all)) ? nil : "This value is not accepted."
    }

    private func problem(ofText value: JSON) -> String? {
        let text = value.shownText
        if text.count > lengths.most { return "At most \(lengths.most) characters." }
        if text.count < lengths.least { return "At least \(lengths.least) characters." }
        switch keyboard {
        case "number": return Self.number(value) == nil ? "This must be a number." : nil
        case "email":
            let parts = text.split(separator: "@", omittingEmptySubsequences: false)
            let isAddress = parts.count == 2 && !parts[0].isEmpty && parts[1].contains(".") && !text.contains(" ")
            return isAddress ? nil : "This must be an email address."
        default: return nil
        }
    }

    private func problem(ofDate value: JSON) -> String? {
        func date(_ json: JSON?) -> Date? { json?.stringValue.flatMap { DefinitionForm.date($0, mode: mode) } }
        guard let chosen = date(value) else { return "This must be a date or time." }
        if let least = date(dates.least), chosen < least { return "This is too early." }
        if let most = date(dates.most), chosen > most { return "This is too late." }
        return nil
    }

    /// The user may type a comma as the decimal separator.
    private static func number(_ value: JSON) -> JSONNumber? {
        if let number = value.numberValue { return number }
        let text = value.shownText.replacingOccurrences(of: ",", with: ".")
        guard text.utf8.count <= 40, let double = Double(text), double.isFinite else { return nil }
        return JSONNumber(text: text) ?? JSONNumber(double)
    }
}
