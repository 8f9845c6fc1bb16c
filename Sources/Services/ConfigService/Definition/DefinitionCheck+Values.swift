import Foundation
import MartletAPI
import MartletCore
import MartletLogic

extension DefinitionCheck {
    /// Checks a property's value: fixed, bound to the model (`@`, `@.field`), computed (`{"logic": …}`) or translated
    /// (`{"translation": "key"}`).
    mutating func check(_ value: JSONValue, as property: Component.Property, at path: String) {
        if isComputed(value, at: path) { return }
        switch (property, value) {
        case (.value, _): checkCustomValue(value, at: path)
        case (.view, .string(let name)): refer(to: name, in: app.views, "view", at: path)
        case (.model, .string(let name)): refer(to: name, in: app.models, "model", at: path)
        case (.controller, .string(let name)): refer(to: name, in: app.controllers, "controller", at: path)
        default: if let (code, message) = Self.problem(value, property) { addFinding(code, path, message) }
        }
        if property == .url, case .string(let url) = value, url.hasPrefix("http:") {
            addFinding(
                "insecure-url", path, "iOS blocks http URLs unless the app declares an exception; use https.", .warning)
        }
    }

    private static func problem(_ value: JSONValue, _ property: Component.Property) -> (code: String, message: String)?
    {
        switch (property, value) {
        case (.distance, .string("fill")), (.length, .string("fill")): nil
        case (.distance, .number(let literal)):
            isNumber(literal, in: -100_000...100_000)
                ? nil : ("bad-layout", "Expected a distance from -100000 to 100000 points, found \(value.phrase).")
        case (.length, .number(let literal)):
            isNumber(literal, in: 0...100_000)
                ? nil : ("bad-layout", "Expected a length from 0 to 100000 points, found \(value.phrase).")
        case (.distance, _), (.length, _):
            ("bad-layout", "Expected a number of points, or \"fill\", found \(value.phrase).")
        case (.size, .number(let literal)) where isNumber(literal, in: 1...1_000): nil
        case (.size, _): ("bad-layout", "Expected a text size from 1 to 1000 points, found \(value.phrase).")
        case (.count, .number(let literal)) where Int(literal).map { (0...10_000).contains($0) } == true: nil
        case (.count, _): ("bad-layout", "Expected a whole number from 0 to 10000, found \(value.phrase).")
        case (.orientation, .string("vertical")), (.orientation, .string("horizontal")): nil
        case (.orientation, _): ("bad-layout", "Expected \"vertical\" or \"horizontal\".")
        case (.color, .string(let text)) where isColor(text): nil
        case (.color, _): ("bad-color", "A colour must be #rrggbb or #rrggbbaa.")
        case (.url, .string(let text)) where isAddress(text): nil
        case (.url, _): ("bad-url", "Expected a path or an https URL.")
        case (.degrees, .number(let literal)) where isNumber(literal, in: -180...180): nil
        case (.degrees, _): ("bad-value", "Expected a number of degrees from -180 to 180, found \(value.phrase).")
        case (.flag, .bool): nil
        case (.flag, _): ("bad-value", "Expected true or false, found \(value.phrase).")
        case (.text, .array), (.text, .object): ("bad-value", "Expected a string, found \(value.phrase).")
        case (.view, _), (.model, _), (.controller, _): ("bad-value", "Expected a name, found \(value.phrase).")
        default: nil
        }
    }

    /// Checks a value of a property that only the host app knows.
    mutating func checkCustomValue(_ value: JSONValue, at path: String) {
        if isComputed(value, at: path) { return }
        switch value {
        case .array(let elements):
            for (index, element) in elements.enumerated() { checkCustomValue(element, at: "\(path)/\(index)") }
        case .object(let members):
            for member in members { checkCustomValue(member.value, at: path + "/" + JSONPointer.escape(member.name)) }
        default: break
        }
    }

    /// Whether the value is only known on the device. Reports errors in its binding, logic or translation.
    private mutating func isComputed(_ value: JSONValue, at path: String) -> Bool {
        switch value {
        case .string(let text) where text.hasPrefix("@"):
            if !Self.isBinding(text) {
                addFinding("bad-binding", path, "A binding must be @, @.field or @.field.field.")
            }
        case .object(let members) where members.count == 1 && members[0].name == "logic":
            check(rule: members[0].value, at: path + "/logic")
        case .object(let members) where members.count == 1 && members[0].name == "translation":
            check(translation: members[0].value, at: path + "/translation")
        default: return false
        }
        return true
    }

    private mutating func check(rule: JSONValue, at path: String) {
        do throws(LogicError) {
            _ = try JSONLogic(LogicValue(rule), operations: operations)
        } catch {
            switch error {
            case .unknownOperation(let name, let place):
                addFinding(
                    "unknown-operation", path + place,
                    "JsonLogic has no operation \"\(name)\". If the host app does, name it in requires.")
            default: addFinding("bad-rule", path, "\(error)")
            }
        }
    }

    private mutating func check(translation: JSONValue, at path: String) {
        guard case .string(let key) = translation else {
            return addFinding("bad-value", path, "Expected the key of a translation, found \(translation.phrase).")
        }
        guard checkedKeys.insert(key).inserted else { return }
        if translations.isEmpty {
            return addFinding("missing-translation", path, "No translation is live, so the key \"\(key)\" has no text.")
        }
        for gap in translations.gaps(of: key) {
            switch gap.language {
            case nil: addFinding("missing-translation", path, "The translation \(gap.document) has no key \"\(key)\".")
            case let language?:
                addFinding(
                    "untranslated", path, "The translation \(gap.document) has no text for \"\(key)\" in \(language).",
                    .warning)
            }
        }
    }

    private static func isNumber(_ literal: String, in range: ClosedRange<Double>) -> Bool {
        Double(literal).map(range.contains) ?? false
    }

    private static func isColor(_ text: String) -> Bool {
        let digits = text.utf8.dropFirst()
        return text.utf8.first == UInt8(ascii: "#") && [6, 8].contains(digits.count)
            && digits.allSatisfy { Character(Unicode.Scalar($0)).isHexDigit }
    }

    private static func isBinding(_ text: String) -> Bool {
        text == "@"
            || text.hasPrefix("@.")
                && text.dropFirst(2).split(separator: ".", omittingEmptySubsequences: false).allSatisfy { !$0.isEmpty }
    }

    /// Whether the text is a path on the app's own server or an http or https URL.
    static func isAddress(_ text: String) -> Bool {
        guard text.utf8.count <= 2_048, !text.contains(where: \.isWhitespace) else { return false }
        if text.hasPrefix("/") { return !text.hasPrefix("//") }
        guard let url = URL(string: text), let host = url.host(), !host.isEmpty else { return false }
        return url.scheme == "https" || url.scheme == "http"
    }
}
