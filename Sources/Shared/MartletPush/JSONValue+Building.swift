import Foundation
import MartletCore

extension JSONValue {
    /// A member with a string; empty if the string is nil.
    static func member(_ name: String, _ text: String?) -> [Member] { text.map { [Member(name, .string($0))] } ?? [] }

    /// A member with a list of strings; empty if the list is.
    static func member(_ name: String, _ texts: [String]) -> [Member] {
        texts.isEmpty ? [] : [Member(name, .array(texts.map { .string($0) }))]
    }

    static func member(_ name: String, _ number: Int?) -> [Member] {
        number.map { [Member(name, .number("\($0)"))] } ?? []
    }

    /// A member with a finite number; empty if it is nil.
    static func member(_ name: String, _ number: Double?) -> [Member] {
        number.map { [Member(name, .number("\($0)"))] } ?? []
    }

    static func member(_ name: String, _ value: JSONValue?) -> [Member] { value.map { [Member(name, $0)] } ?? [] }

    static func member(_ name: String, object: [Member]) -> [Member] {
        object.isEmpty ? [] : [Member(name, .object(object))]
    }

    /// A member with the value 1, as Apple expects; empty if false.
    static func flag(_ name: String, _ holds: Bool) -> [Member] { holds ? [Member(name, .number("1"))] : [] }

    /// The member's text; nil if it is not a string.
    func string(_ name: String) -> String? {
        if case .string(let text) = self[name] { text } else { nil }
    }
}

extension Date {
    /// Whole seconds, clamped so that any date can be converted.
    var secondsSince1970: Int { Int(max(-1e15, min(1e15, timeIntervalSince1970))) }
}
