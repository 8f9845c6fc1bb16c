import Foundation
import MartletCore

extension JSONValue {
    /// A member with a string, where there is one.
    static func member(_ name: String, _ text: String?) -> [Member] { text.map { [Member(name, .string($0))] } ?? [] }

    /// A member with a list of strings, unless it is empty.
    static func member(_ name: String, _ texts: [String]) -> [Member] {
        texts.isEmpty ? [] : [Member(name, .array(texts.map { .string($0) }))]
    }

    static func member(_ name: String, _ number: Int?) -> [Member] {
        number.map { [Member(name, .number("\($0)"))] } ?? []
    }

    /// A finite number.
    static func member(_ name: String, _ number: Double?) -> [Member] {
        number.map { [Member(name, .number("\($0)"))] } ?? []
    }

    static func member(_ name: String, _ value: JSONValue?) -> [Member] { value.map { [Member(name, $0)] } ?? [] }

    static func member(_ name: String, object: [Member]) -> [Member] {
        object.isEmpty ? [] : [Member(name, .object(object))]
    }

    /// 1 where it holds, as Apple writes it.
    static func flag(_ name: String, _ holds: Bool) -> [Member] { holds ? [Member(name, .number("1"))] : [] }

    /// The member's text, where it is a string.
    func string(_ name: String) -> String? {
        if case .string(let text) = self[name] { text } else { nil }
    }
}

extension Date {
    /// Whole seconds, whatever the date.
    var secondsSince1970: Int { Int(max(-1e15, min(1e15, timeIntervalSince1970))) }
}
